//! Numbers for names.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use super::builder::too_many;
use crate::error::Result;

/// Gives each name a number: all names in one text, found through a table of where each one lies.
///
/// Importing a large graph spends most of its time waiting for memory here. So the table itself says
/// where a name lies and what its hash is, and many names are looked up at once ([`intern_all`]): the
/// processor then waits for several of them at a time.
///
/// [`intern_all`]: Interner::intern_all
pub(super) struct Interner {
    text: String,
    starts: Vec<u64>,
    table: HashTable<Spot>,
}

/// A name in the text.
#[derive(Clone, Copy)]
struct Spot {
    hash: u64,
    start: u64,
    len: u32,
    number: u32,
}

impl Spot {
    fn of<'a>(&self, text: &'a str) -> &'a [u8] {
        &text.as_bytes()[self.start as usize..][..self.len as usize]
    }
}

impl Default for Interner {
    fn default() -> Self {
        Interner { text: String::new(), starts: vec![0], table: HashTable::new() }
    }
}

impl Interner {
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The name of a number.
    pub fn get(&self, number: u32) -> &str {
        let number = number as usize;
        &self.text[self.starts[number] as usize..self.starts[number + 1] as usize]
    }

    /// The number of a name, if it has one.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.find_hashed(name, xxh3_64(name.as_bytes()))
    }

    fn find_hashed(&self, name: &str, hash: u64) -> Option<u32> {
        let same = |spot: &Spot| spot.hash == hash && spot.of(&self.text) == name.as_bytes();
        self.table.find(hash, same).map(|spot| spot.number)
    }

    /// The number of a name, new or not.
    pub fn intern(&mut self, name: &str) -> Result<u32> {
        self.intern_hashed(name, xxh3_64(name.as_bytes()))
    }

    fn intern_hashed(&mut self, name: &str, hash: u64) -> Result<u32> {
        if let Some(number) = self.find_hashed(name, hash) {
            return Ok(number);
        }
        let number = u32::try_from(self.len()).ok().filter(|&number| number < u32::MAX - 1);
        let (Some(number), Ok(len)) = (number, u32::try_from(name.len())) else {
            return Err(too_many("names"));
        };
        let start = self.text.len() as u64;
        self.push(name);
        self.table.insert_unique(hash, Spot { hash, start, len, number }, |spot| spot.hash);
        Ok(number)
    }

    /// The numbers of many names, new or not, as if they were given one by one.
    pub fn intern_all(&mut self, names: &Names) -> Result<Vec<u32>> {
        // Two loops without anything between the reads, so that their waits overlap: first the
        // table, by hash alone, then the text.
        let mut spots: Vec<Option<Spot>> = Vec::with_capacity(names.len());
        spots.extend(
            names
                .hashes
                .iter()
                .map(|&hash| self.table.find(hash, |spot| spot.hash == hash).copied()),
        );
        for (spot, name) in spots.iter_mut().zip(names.iter()) {
            *spot = spot.filter(|spot| spot.of(&self.text) == name.as_bytes());
        }
        let all = spots.iter().zip(names.iter()).zip(&names.hashes);
        all.map(|((spot, name), &hash)| match spot {
            Some(spot) => Ok(spot.number),
            None => self.intern_hashed(name, hash),
        })
        .collect()
    }

    /// Adds a name that need not be found again.
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.starts.push(self.text.len() as u64);
    }

    /// The text, and where each name starts in it.
    pub fn into_parts(self) -> (String, Vec<u64>) {
        (self.text, self.starts)
    }
}

/// Names gathered to be looked up together.
#[derive(Default)]
pub(super) struct Names {
    text: String,
    ends: Vec<usize>,
    hashes: Vec<u64>,
}

impl Names {
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.hashes.push(xxh3_64(name.as_bytes()));
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of all names together.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
        self.hashes.clear();
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.text[start..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn many_at_once_get_the_numbers_of_one_by_one() {
        let mut rng = Rng::new(8);
        let (mut one, mut many) = (Interner::default(), Interner::default());
        for _ in 0..50 {
            let mut names = Names::default();
            let given: Vec<String> = (0..40).map(|_| format!("n{}", rng.below(300))).collect();
            given.iter().for_each(|name| names.push(name));
            let expected: Vec<u32> = given.iter().map(|name| one.intern(name).unwrap()).collect();
            assert_eq!(many.intern_all(&names).unwrap(), expected);
        }
        assert!(one.len() > 100 && one.find("n1") == many.find("n1"));
    }
}
