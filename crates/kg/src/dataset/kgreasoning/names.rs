//! The tables of names beside a query set.

use std::path::Path;

use crate::dataset::pickle::View;
use crate::error::{Error, Result};

/// Reads `id2ent.pkl`, `ent2id.pkl` or the like for relations: numbers and their names, by number.
pub fn read_id_names(path: &Path) -> Result<Vec<(u32, String)>> {
    let bytes = std::fs::read(path).map_err(Error::io(path))?;
    id_names(&bytes, path)
}

fn id_names(bytes: &[u8], path: &Path) -> Result<Vec<(u32, String)>> {
    let wrong = |message: String| Error::unusable(path, message);
    let pickle = super::unpickle(bytes, path)?;
    let View::Dict(pairs) = pickle.view(pickle.root()) else {
        return Err(wrong("holds no dict of numbers and names".into()));
    };
    let mut names = Vec::with_capacity(pairs.len());
    // The same text may be named many times over in a small file.
    let mut room = bytes.len().saturating_mul(4);
    for (key, value) in pairs {
        let ((View::Int(number), View::Text(name)) | (View::Text(name), View::Int(number))) =
            (pickle.view(*key), pickle.view(*value))
        else {
            return Err(wrong("has an entry that is not a number and a name".into()));
        };
        let number = u32::try_from(number)
            .map_err(|_| wrong(format!("'{name}' has the number {number}, out of range")))?;
        room = room
            .checked_sub(name.len())
            .ok_or_else(|| wrong("holds the same names too many times over".into()))?;
        names.push((number, name.to_owned()));
    }
    names.sort();
    names.dedup();
    match names.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => {
            let (number, one, other) = (pair[0].0, &pair[0].1, &pair[1].1);
            Err(wrong(format!("{number} is the number of both '{one}' and '{other}'")))
        }
        None => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<(u32, String)>> {
        id_names(bytes, Path::new("id2ent.pkl"))
    }

    #[test]
    fn both_directions_are_read() {
        let expected = vec![(1, "a".to_owned()), (2, "é".to_owned())];
        let forth = b"\x80\x03}(K\x02X\x02\0\0\0\xc3\xa9K\x01X\x01\0\0\0au.";
        let back = b"\x80\x03}(X\x02\0\0\0\xc3\xa9K\x02X\x01\0\0\0aK\x01u.";
        assert_eq!(read(forth).unwrap(), expected);
        assert_eq!(read(back).unwrap(), expected);
    }

    #[test]
    fn what_is_no_table_of_names_is_refused() {
        for (bytes, why) in [
            (&b"]."[..], "no dict"),
            (b"}(K\x01K\x02u.", "not a number and a name"),
            (b"}(J\xff\xff\xff\xffU\x01au.", "out of range"),
            (b"}(U\x01aK\x01U\x01bK\x01u.", "both 'a' and 'b'"),
            (b"}(U\x01a", "damaged: byte 5: the pickle is cut short"),
        ] {
            let error = read(bytes).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
