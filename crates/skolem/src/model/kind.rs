//! The kinds of models that there are: the one list of them.

use serde::{Deserialize, Serialize};

use super::{Beta, Gqe, Logic, Query2Box, Settings};
use crate::config::TrainConfig;

macro_rules! kinds {
    ($dollar:tt $($(#[$doc:meta])* $name:literal => $kind:ident,)*) => {
        /// A model of any kind, as the section `[model]` of the config has it.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum Kind {
            $($(#[$doc])* #[serde(rename = $name)] $kind($kind),)*
        }

        impl Kind {
            /// The names of the kinds.
            pub const NAMES: &[&str] = &[$($name),*];

            /// Its name.
            pub fn name(&self) -> &'static str {
                match self { $(Kind::$kind(_) => $name,)* }
            }

            /// A kind with the settings that it was published with.
            pub fn published(name: &str) -> Option<Kind> {
                match name { $($name => Some(Kind::$kind($kind::default())),)* _ => None }
            }

            /// The same kind with the settings of the recipe `fast`, which may change how it learns.
            pub fn fast(&self, train: &mut TrainConfig) -> Kind {
                match self { $(Kind::$kind(_) => Kind::$kind($kind::fast(train)),)* }
            }
        }

        $(impl From<$kind> for Kind {
            fn from(model: $kind) -> Kind {
                Kind::$kind(model)
            }
        })*

        /// Runs code for the model that a kind is, whichever it is: `with_model!(&kind, |model| …)`. The code is
        /// compiled for each of them.
        #[macro_export]
        macro_rules! with_model {
            ($dollar kind:expr, |$dollar model:ident| $dollar body:expr) => {
                match $dollar kind { $($crate::model::Kind::$kind($dollar model) => $dollar body,)* }
            };
        }
    };
}

kinds! { $
    /// Truth values, or bounds on them.
    "logic" => Logic,
    /// Points.
    "gqe" => Gqe,
    /// Boxes.
    "query2box" => Query2Box,
    /// Beta distributions.
    "beta" => Beta,
}

pub use with_model;

impl std::ops::Deref for Kind {
    type Target = dyn Settings;

    fn deref(&self) -> &Self::Target {
        with_model!(self, |model| model)
    }
}
