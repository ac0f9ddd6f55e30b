//! Python's pickles, the part that data sets use: numbers, text, tuples, lists, sets and dicts.
//!
//! A pickle is a program for a stack machine, and Python's own reader lets it call anything. This
//! one knows no calls but those that make empty or copied containers, and refuses the rest by name.
//!
//! All values of a pickle lie in a few flat tables and refer to each other by position. So sharing
//! costs nothing, a list that holds itself is no trouble, and nothing recurses, neither while
//! reading nor when the values are dropped, however deep they nest. Memory is in proportion to
//! the length of the pickle. Only who walks the values must bound how deep and how long.

mod input;
mod read;
#[cfg(test)]
mod tests;
pub(super) mod write;

pub use read::parse;

/// Why a pickle cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PickleError {
    /// Where, in bytes from the start.
    pub offset: usize,
    /// What is wrong.
    pub what: String,
    /// Whether it asks for something that is never done, rather than being damaged.
    pub refused: bool,
}

impl std::fmt::Display for PickleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.what)
    }
}

impl std::error::Error for PickleError {}

/// A value of a pickle; see [`Pickle::view`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Value(Slot);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slot {
    None,
    Bool(bool),
    Int(i64),
    /// A stretch of the text.
    Text {
        len: u32,
        start: u64,
    },
    /// A stretch of the parts.
    Tuple {
        len: u32,
        start: u64,
    },
    /// One of the containers.
    Held(u32),
    Global(Global),
}

/// The only names that a pickle may mention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Global {
    DefaultDict,
    Set,
    FrozenSet,
    List,
    Dict,
    Tuple,
    Int,
}

/// What can still grow after it was made.
enum Container {
    List(Store),
    Set(Store),
    /// The set of a list's first elements. Lists only ever grow, so this is the copy that Python
    /// would make, and half of a file of answers is such sets.
    SetOf {
        list: u32,
        len: usize,
    },
    Dict(Vec<(Value, Value)>),
}

/// Elements; most lists are of small numbers alone, which take a quarter of the room.
enum Store {
    Ints(Vec<u32>),
    Values(Vec<Value>),
}

/// All values of a pickle.
pub struct Pickle {
    root: Value,
    parts: Vec<Value>,
    containers: Vec<Container>,
    text: String,
}

/// What a value is.
#[derive(Debug)]
pub enum View<'a> {
    /// `None`
    None,
    /// `True` or `False`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Text.
    Text(&'a str),
    /// A tuple.
    Tuple(&'a [Value]),
    /// A list.
    List(Items<'a>),
    /// A set; elements may be repeated here, and count once.
    Set(Items<'a>),
    /// A dict; keys may be repeated here, and the last one counts.
    Dict(&'a [(Value, Value)]),
    /// The name of a type.
    Type,
}

impl View<'_> {
    /// A word for it, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            View::None => "None",
            View::Bool(_) => "a truth value",
            View::Int(_) => "a number",
            View::Text(_) => "text",
            View::Tuple(_) => "a tuple",
            View::List(_) => "a list",
            View::Set(_) => "a set",
            View::Dict(_) => "a dict",
            View::Type => "a type",
        }
    }
}

/// The elements of a list or a set.
#[derive(Clone, Copy, Debug)]
pub enum Items<'a> {
    /// Small numbers alone.
    Ints(&'a [u32]),
    /// Anything.
    Values(&'a [Value]),
}

impl Items<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Items::Ints(ints) => ints.len(),
            Items::Values(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them.
    pub fn get(&self, at: usize) -> Option<Value> {
        match self {
            Items::Ints(ints) => ints.get(at).map(|&int| Value(Slot::Int(int.into()))),
            Items::Values(values) => values.get(at).copied(),
        }
    }
}

impl Pickle {
    /// The value that was pickled.
    pub fn root(&self) -> Value {
        self.root
    }

    /// What a value of this pickle is.
    pub fn view(&self, value: Value) -> View<'_> {
        match value.0 {
            Slot::None => View::None,
            Slot::Bool(truth) => View::Bool(truth),
            Slot::Int(int) => View::Int(int),
            Slot::Text { len, start } => View::Text(&self.text[stretch(start, len)]),
            Slot::Tuple { len, start } => View::Tuple(&self.parts[stretch(start, len)]),
            Slot::Global(_) => View::Type,
            Slot::Held(at) => match &self.containers[at as usize] {
                Container::List(store) => View::List(store.items()),
                Container::Set(store) => View::Set(store.items()),
                Container::SetOf { list, len } => View::Set(self.first_of(*list, *len)),
                Container::Dict(pairs) => View::Dict(pairs),
            },
        }
    }

    fn first_of(&self, list: u32, len: usize) -> Items<'_> {
        match &self.containers[list as usize] {
            Container::List(store) => match store.items() {
                Items::Ints(ints) => Items::Ints(&ints[..len]),
                Items::Values(values) => Items::Values(&values[..len]),
            },
            _ => Items::Ints(&[]),
        }
    }
}

impl Store {
    fn items(&self) -> Items<'_> {
        match self {
            Store::Ints(ints) => Items::Ints(ints),
            Store::Values(values) => Items::Values(values),
        }
    }

    fn extend(&mut self, values: &[Value]) {
        // Most lists come at once; room to grow would double what they take.
        if let Store::Ints(ints) = self {
            ints.reserve_exact(if ints.is_empty() { values.len() } else { 0 });
        }
        for value in values {
            self.push(*value);
        }
    }

    fn push(&mut self, value: Value) {
        if let Store::Ints(ints) = self {
            match value.0 {
                Slot::Int(int) if u32::try_from(int).is_ok() => return ints.push(int as u32),
                _ => {
                    let values = ints.iter().map(|&int| Value(Slot::Int(int.into()))).collect();
                    *self = Store::Values(values);
                }
            }
        }
        if let Store::Values(values) = self {
            values.push(value);
        }
    }
}

fn stretch(start: u64, len: u32) -> std::ops::Range<usize> {
    start as usize..start as usize + len as usize
}
