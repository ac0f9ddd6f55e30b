//! How much time and memory an evaluation may use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Why an evaluation stopped early.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stop {
    /// Time is up.
    #[error("stopped after {0:?}, the time allowed (allow more with --time)")]
    Time(Duration),
    /// Memory is used up.
    #[error("needs more than the {0} MiB allowed (allow more with --memory)")]
    Memory(usize),
    /// Somebody asked for it.
    #[error("cancelled")]
    Cancelled,
}

/// Limits of an evaluation; the default has none.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    deadline: Option<(Instant, Duration)>,
    /// Entities that may be held, all sets of a query together.
    entities: Option<usize>,
    held: usize,
    cancel: Option<Arc<AtomicBool>>,
}

const BYTES_PER_ENTITY: usize = 4;

impl Budget {
    /// Stops after a time, counted from now.
    pub fn time(mut self, time: Duration) -> Budget {
        self.deadline = Instant::now().checked_add(time).map(|end| (end, time));
        self
    }

    /// Stops when sets need more memory than this.
    pub fn memory(mut self, mebibytes: usize) -> Budget {
        self.entities = Some(mebibytes.saturating_mul((1 << 20) / BYTES_PER_ENTITY));
        self
    }

    /// Stops soon after this becomes true.
    pub fn cancelled_by(mut self, cancel: Arc<AtomicBool>) -> Budget {
        self.cancel = Some(cancel);
        self
    }

    /// Fails when time is up or somebody cancelled.
    pub(super) fn check(&self) -> Result<()> {
        if self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(Error::Stopped(Stop::Cancelled));
        }
        match self.deadline {
            Some((end, time)) if Instant::now() >= end => Err(Error::Stopped(Stop::Time(time))),
            _ => Ok(()),
        }
    }

    /// Accounts for a set; fails when all together are too large.
    pub(super) fn take(&mut self, entities: usize) -> Result<()> {
        self.held = self.held.saturating_add(entities);
        match self.entities {
            Some(most) if self.held > most => {
                Err(Error::Stopped(Stop::Memory((most * BYTES_PER_ENTITY) >> 20)))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Answering;
    use crate::{Entity, GraphBuilder, Query, Split};

    fn outcome(budget: Budget) -> Result<Vec<Entity>> {
        let mut builder = GraphBuilder::default();
        builder.edge_named(Split::Train, "a", "r", "b").unwrap();
        let graph = builder.finish().unwrap().0;
        let query = Query::parse("!r(a)", &graph).unwrap();
        Answering::within(graph.edges(Split::Train).unwrap(), budget).answers(&query)
    }

    fn stop(budget: Budget) -> Stop {
        match outcome(budget) {
            Err(Error::Stopped(stop)) => stop,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn time_memory_and_a_wish_to_stop_are_obeyed() {
        assert_eq!(outcome(Budget::default()).unwrap().len(), 1);
        let hour = Duration::from_secs(3600);
        assert!(outcome(Budget::default().time(hour).memory(1)).is_ok());
        assert_eq!(stop(Budget::default().time(Duration::ZERO)), Stop::Time(Duration::ZERO));
        assert_eq!(stop(Budget::default().memory(0)), Stop::Memory(0));
        let cancel = Arc::new(AtomicBool::new(false));
        let budget = Budget::default().cancelled_by(cancel.clone());
        assert!(outcome(budget.clone()).is_ok());
        cancel.store(true, Ordering::Relaxed);
        assert_eq!(stop(budget), Stop::Cancelled);
    }
}
