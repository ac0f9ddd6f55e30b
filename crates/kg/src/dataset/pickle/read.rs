//! The stack machine that a pickle is a program for.

use super::input::{Input, Outcome};
use super::{Container, Global, Items, Pickle, PickleError, Slot, Store, Value, View};

/// The newest protocol read.
const PROTOCOL: u8 = 5;

/// Reads a pickle, of any protocol up to 5.
pub fn parse(bytes: &[u8]) -> Result<Pickle, PickleError> {
    let pickle = Pickle {
        root: Value(Slot::None),
        parts: Vec::new(),
        containers: Vec::new(),
        text: String::new(),
    };
    let input = Input::new(bytes);
    Machine { input, stack: vec![], marks: vec![], memo: vec![], spent: 0, pickle }.run()
}

struct Machine<'a> {
    input: Input<'a>,
    stack: Vec<Value>,
    /// Heights of the stack that an instruction will go back to.
    marks: Vec<usize>,
    memo: Vec<Option<Value>>,
    /// Elements looked at or copied on behalf of calls.
    spent: usize,
    pickle: Pickle,
}

impl Machine<'_> {
    fn run(mut self) -> Outcome<Pickle> {
        loop {
            match self.input.instruction()? {
                b'.' => break,
                op => self.execute(op)?,
            }
        }
        self.pickle.root = self.pop()?;
        if !self.stack.is_empty() || !self.input.is_empty() {
            return Err(self.damaged("the pickle ends before its values do"));
        }
        Ok(self.pickle)
    }

    fn execute(&mut self, op: u8) -> Outcome {
        match op {
            0x80 => {
                let protocol = self.input.byte()?;
                if protocol > PROTOCOL {
                    let what =
                        format!("pickle protocol {protocol} is not known (up to {PROTOCOL})");
                    return Err(self.refused(what));
                }
            }
            0x95 => {
                let len = self.input.number(8)?;
                self.input.check_left(len)?;
            }

            b'N' => self.push(Slot::None),
            0x88 => self.push(Slot::Bool(true)),
            0x89 => self.push(Slot::Bool(false)),
            b'J' => {
                let int = self.input.number(4)? as u32 as i32;
                self.push(Slot::Int(int.into()));
            }
            b'K' | b'M' => {
                let int = self.input.number(if op == b'K' { 1 } else { 2 })?;
                self.push(Slot::Int(int as i64));
            }
            0x8a | 0x8b => {
                let len = self.input.number(if op == 0x8a { 1 } else { 4 })?;
                let int = self.input.long(len)?;
                self.push(Slot::Int(int));
            }
            b'I' | b'L' => {
                let slot = self.input.decimal(op)?;
                self.push(slot);
            }
            b'X' | b'T' => self.text(4)?,
            0x8c | b'U' => self.text(1)?,
            0x8d => self.text(8)?,
            b'V' => {
                let text = self.input.escaped_text()?;
                self.push_text(&text)?;
            }

            b'(' => self.marks.push(self.stack.len()),
            b'0' => self.pop_any()?,
            b'1' => {
                self.pop_mark()?;
            }
            b'2' => {
                let top = self.top()?;
                self.stack.push(top);
            }
            b'p' => {
                let at = self.input.index()?;
                self.remember(at)?;
            }
            b'q' | b'r' => {
                let at = self.input.number(if op == b'q' { 1 } else { 4 })?;
                self.remember(at)?;
            }
            0x94 => self.remember(self.memo.len() as u64)?,
            b'g' => {
                let at = self.input.index()?;
                self.recall(at)?;
            }
            b'h' | b'j' => {
                let at = self.input.number(if op == b'h' { 1 } else { 4 })?;
                self.recall(at)?;
            }

            b')' => self.tuple(0)?,
            0x85..=0x87 => self.tuple(usize::from(op - 0x84))?,
            b't' => {
                let start = self.mark()?;
                self.tuple(self.stack.len() - start)?;
            }
            b']' => self.hold(Container::List(Store::Ints(vec![])))?,
            0x8f => self.hold(Container::Set(Store::Ints(vec![])))?,
            b'}' => self.hold(Container::Dict(vec![]))?,
            b'l' | 0x91 | b'd' => {
                let values = self.pop_mark()?;
                self.hold(match op {
                    b'l' => Container::List(Store::Ints(vec![])),
                    b'd' => Container::Dict(vec![]),
                    _ => Container::Set(Store::Ints(vec![])),
                })?;
                self.add(op, values)?;
            }
            b'a' => {
                let value = self.pop()?;
                self.add(op, vec![value])?;
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.add(op, vec![key, value])?;
            }
            b'e' | b'u' | 0x90 => {
                let values = self.pop_mark()?;
                self.add(op, values)?;
            }

            b'c' => {
                let module = self.input.line()?;
                let name = self.input.line()?;
                let global = self.global(module, name)?;
                self.push(Slot::Global(global));
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let [module, name] = [module, name].map(|value| match self.pickle.view(value) {
                    View::Text(text) => Some(text),
                    _ => None,
                });
                let (Some(module), Some(name)) = (module, name) else {
                    return Err(self.damaged("a name is not text"));
                };
                let global = self.global(module.as_bytes(), name.as_bytes())?;
                self.push(Slot::Global(global));
            }
            b'R' => self.call()?,
            other => return Err(self.refused(format!("refuses the instruction {}", named(other)))),
        }
        Ok(())
    }

    /// Adds values to the container on top of the stack.
    fn add(&mut self, op: u8, values: Vec<Value>) -> Outcome {
        let Slot::Held(at) = self.top()?.0 else {
            return Err(self.damaged("something that is no container is added to"));
        };
        if let Container::SetOf { list, len } = self.pickle.containers[at as usize] {
            self.spend(len)?;
            let mut own = Store::Ints(vec![]);
            let items = self.pickle.first_of(list, len);
            (0..items.len()).filter_map(|at| items.get(at)).for_each(|value| own.push(value));
            self.pickle.containers[at as usize] = Container::Set(own);
        }
        let no_key = |value: &Value| matches!(value.0, Slot::Held(_));
        match (op, &mut self.pickle.containers[at as usize]) {
            (b'l' | b'a' | b'e', Container::List(store)) => store.extend(&values),
            (0x90 | 0x91, Container::Set(_)) if values.iter().any(no_key) => {
                return Err(self.damaged("a set holds what cannot be in a set"));
            }
            (0x90 | 0x91, Container::Set(store)) => store.extend(&values),
            (b'd' | b's' | b'u', Container::Dict(pairs)) if values.len().is_multiple_of(2) => {
                if values.iter().step_by(2).any(no_key) {
                    return Err(self.damaged("a dict has a key that cannot be one"));
                }
                pairs.extend(values.chunks_exact(2).map(|pair| (pair[0], pair[1])));
            }
            _ => return Err(self.damaged("values are added to what cannot hold them")),
        }
        Ok(())
    }

    /// Calls one of the few types that may be called.
    fn call(&mut self) -> Outcome {
        let (given, called) = (self.pop()?, self.pop()?);
        let (Slot::Global(global), Slot::Tuple { .. }) = (called.0, given.0) else {
            return Err(self.damaged("something that is no function is called"));
        };
        let given = match self.pickle.view(given) {
            View::Tuple(parts) if parts.len() <= 1 => parts.to_vec(),
            _ => return Err(self.refused("refuses a call with these arguments")),
        };
        let made = match (global, &given[..]) {
            (Global::DefaultDict, [] | [Value(Slot::Global(_) | Slot::None)]) => {
                Container::Dict(vec![])
            }
            (Global::Dict, []) => Container::Dict(vec![]),
            (Global::List, []) => Container::List(Store::Ints(vec![])),
            (Global::Set | Global::FrozenSet, []) => Container::Set(Store::Ints(vec![])),
            (Global::List, [of]) => Container::List(self.copy(*of)?),
            (Global::Set | Global::FrozenSet, [of]) => self.set_of(*of)?,
            _ => return Err(self.refused("refuses a call with these arguments")),
        };
        self.hold(made)
    }

    fn set_of(&mut self, value: Value) -> Outcome<Container> {
        let Slot::Held(list) = value.0 else { return Ok(Container::Set(self.copy(value)?)) };
        let Container::List(store) = &self.pickle.containers[list as usize] else {
            return Ok(Container::Set(self.copy(value)?));
        };
        let len = store.items().len();
        if let Items::Values(values) = store.items() {
            if values.iter().any(|value| matches!(value.0, Slot::Held(_))) {
                return Err(self.damaged("a set holds what cannot be in a set"));
            }
            self.spend(len)?;
        }
        Ok(Container::SetOf { list, len })
    }

    fn copy(&mut self, value: Value) -> Outcome<Store> {
        let items = match self.pickle.view(value) {
            View::List(items) | View::Set(items) => items,
            View::Tuple(parts) => Items::Values(parts),
            _ => return Err(self.refused("refuses a call with these arguments")),
        };
        let len = items.len();
        let copy = match items {
            Items::Ints(ints) => Store::Ints(ints.to_vec()),
            Items::Values(values) => Store::Values(values.to_vec()),
        };
        self.spend(len)?;
        Ok(copy)
    }

    fn global(&self, module: &[u8], name: &[u8]) -> Outcome<Global> {
        let builtin = matches!(module, b"builtins" | b"__builtin__");
        Ok(match name {
            b"defaultdict" if module == b"collections" => Global::DefaultDict,
            b"set" if builtin => Global::Set,
            b"frozenset" if builtin => Global::FrozenSet,
            b"list" if builtin => Global::List,
            b"dict" if builtin => Global::Dict,
            b"tuple" if builtin => Global::Tuple,
            b"int" if builtin => Global::Int,
            _ => {
                let full = [module, b".", name].concat();
                let full = String::from_utf8_lossy(&full[..full.len().min(200)]).into_owned();
                return Err(self.refused(format!(
                    "refuses to load '{}' (only collections.defaultdict and builtins.set are allowed)",
                    full.escape_debug()
                )));
            }
        })
    }
}

/// The stack, the memo and the tables.
impl Machine<'_> {
    fn push(&mut self, slot: Slot) {
        self.stack.push(Value(slot));
    }

    fn top(&self) -> Outcome<Value> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.last() {
            Some(value) if self.stack.len() > floor => Ok(*value),
            _ => Err(self.damaged("there is no value to use")),
        }
    }

    fn pop(&mut self) -> Outcome<Value> {
        let top = self.top()?;
        self.stack.pop();
        Ok(top)
    }

    /// Drops a value, or the mark if there is none above it.
    fn pop_any(&mut self) -> Outcome {
        match self.marks.last() {
            Some(&mark) if mark == self.stack.len() => {
                self.marks.pop();
                Ok(())
            }
            _ => self.pop().map(|_| ()),
        }
    }

    fn mark(&mut self) -> Outcome<usize> {
        self.marks.pop().ok_or_else(|| self.damaged("there is no mark to go back to"))
    }

    /// The values above the last mark, taken off the stack.
    fn pop_mark(&mut self) -> Outcome<Vec<Value>> {
        let start = self.mark()?;
        Ok(self.stack.split_off(start))
    }

    fn tuple(&mut self, len: usize) -> Outcome {
        let floor = self.marks.last().copied().unwrap_or(0);
        let Some(from) = self.stack.len().checked_sub(len).filter(|&from| from >= floor) else {
            return Err(self.damaged("there is no value to use"));
        };
        let start = self.pickle.parts.len() as u64;
        let len = u32::try_from(len).map_err(|_| self.damaged("a tuple is too long"))?;
        self.pickle.parts.extend(self.stack.drain(from..));
        self.push(Slot::Tuple { len, start });
        Ok(())
    }

    fn hold(&mut self, container: Container) -> Outcome {
        let at = u32::try_from(self.pickle.containers.len())
            .map_err(|_| self.refused("holds too many containers"))?;
        self.pickle.containers.push(container);
        self.push(Slot::Held(at));
        Ok(())
    }

    fn remember(&mut self, at: u64) -> Outcome {
        let value = self.top()?;
        // Pickles number what they keep from zero, and every number takes more than a byte.
        if at >= self.input.len() as u64 {
            return Err(self.damaged("keeps a value under a number that is too large"));
        }
        let at = at as usize;
        if at >= self.memo.len() {
            self.memo.resize(at + 1, None);
        }
        self.memo[at] = Some(value);
        Ok(())
    }

    fn recall(&mut self, at: u64) -> Outcome {
        let kept = usize::try_from(at).ok().and_then(|at| self.memo.get(at).copied().flatten());
        let value = kept.ok_or_else(|| self.damaged("uses a value that was not kept"))?;
        self.stack.push(value);
        Ok(())
    }

    fn text(&mut self, width: u64) -> Outcome {
        let text = self.input.text(width)?;
        self.push_text(text)
    }

    fn push_text(&mut self, text: &str) -> Outcome {
        let len = u32::try_from(text.len()).map_err(|_| self.refused("a text is too long"))?;
        let start = self.pickle.text.len() as u64;
        self.pickle.text.push_str(text);
        self.push(Slot::Text { len, start });
        Ok(())
    }

    /// Counts work that is not in proportion to the bytes that ask for it.
    fn spend(&mut self, work: usize) -> Outcome {
        self.spent += work;
        match self.spent > self.input.len() {
            true => Err(self.refused("copies more than any data set does")),
            false => Ok(()),
        }
    }

    fn damaged(&self, what: impl Into<String>) -> PickleError {
        self.input.damaged(what)
    }

    fn refused(&self, what: impl Into<String>) -> PickleError {
        self.input.refused(what)
    }
}

/// Python's name for an instruction that is not followed.
fn named(op: u8) -> String {
    let name = match op {
        b'b' => "BUILD",
        b'i' => "INST",
        b'o' => "OBJ",
        b'P' => "PERSID",
        b'Q' => "BINPERSID",
        b'F' => "FLOAT",
        b'G' => "BINFLOAT",
        b'S' => "STRING",
        b'B' => "BINBYTES",
        b'C' => "SHORT_BINBYTES",
        0x81 => "NEWOBJ",
        0x82 => "EXT1",
        0x83 => "EXT2",
        0x84 => "EXT4",
        0x8e => "BINBYTES8",
        0x92 => "NEWOBJ_EX",
        0x96 => "BYTEARRAY8",
        0x97 => "NEXT_BUFFER",
        0x98 => "READONLY_BUFFER",
        _ => return format!("0x{op:02x}"),
    };
    name.to_owned()
}
