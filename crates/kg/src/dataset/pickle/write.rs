//! Pickles of queries and answers, as bytes of protocol 3, which every Python 3 reads.

use crate::id::Entity;
use crate::query::tuple::{NOT, OR, Tuple};

/// Begins a `defaultdict(set)`, and keeps `set` for [`put_set`].
pub(in crate::dataset) const BEGIN: &[u8] =
    b"\x80\x03ccollections\ndefaultdict\ncbuiltins\nset\nq\x00\x85R";
/// Ends the pickle.
pub(in crate::dataset) const END: &[u8] = b".";
/// Comes before a run of keys and values…
pub(in crate::dataset) const PAIRS: &[u8] = b"(";
/// …and after it.
pub(in crate::dataset) const PUT_PAIRS: &[u8] = b"u";
/// Comes before the elements of a set…
pub(in crate::dataset) const SET: &[u8] = b"h\x00](";
/// …and after them.
pub(in crate::dataset) const END_SET: &[u8] = b"e\x85R";

/// Appends a query as a tuple of numbers.
pub(in crate::dataset) fn put_tuple(out: &mut Vec<u8>, tuple: &Tuple) {
    put_parts(out, tuple, &|out, number, _| put_int(out, number));
}

/// Appends the shape of a query: its tuple with `'e'`, `'r'`, `'n'` and `'u'` for numbers.
pub(in crate::dataset) fn put_shape(out: &mut Vec<u8>, tuple: &Tuple) {
    put_parts(out, tuple, &|out, number, is_step| {
        let letter = match number {
            _ if !is_step => b'e',
            NOT => b'n',
            OR => b'u',
            _ => b'r',
        };
        out.extend_from_slice(&[b'X', 1, 0, 0, 0, letter]);
    });
}

/// Appends a set of entities.
pub(in crate::dataset) fn put_set(out: &mut Vec<u8>, entities: &[Entity]) {
    out.extend_from_slice(SET);
    entities.iter().for_each(|entity| put_int(out, entity.0.into()));
    out.extend_from_slice(END_SET);
}

/// Appends a tuple, its numbers by a function that is told whether they are steps from a set,
/// which stand in a tuple of numbers alone, or an entity, beside which its steps stand.
fn put_parts(out: &mut Vec<u8>, tuple: &Tuple, put: &dyn Fn(&mut Vec<u8>, i64, bool)) {
    let parts = match tuple {
        Tuple::Number(number) => return put(out, *number, false),
        Tuple::Parts(parts) => parts,
    };
    if parts.len() > 3 {
        out.push(b'(');
    }
    let steps = parts.iter().all(|part| matches!(part, Tuple::Number(_)));
    for part in parts {
        match part {
            Tuple::Number(number) => put(out, *number, steps),
            tuple => put_parts(out, tuple, put),
        }
    }
    out.push(match parts.len() {
        0 => b')',
        1 => 0x85,
        2 => 0x86,
        3 => 0x87,
        _ => b't',
    });
}

fn put_int(out: &mut Vec<u8>, int: i64) {
    let bytes = int.to_le_bytes();
    if int >> 8 == 0 {
        out.push(b'K');
        out.extend_from_slice(&bytes[..1]);
    } else if int >> 16 == 0 {
        out.push(b'M');
        out.extend_from_slice(&bytes[..2]);
    } else if i32::try_from(int).is_ok() {
        out.push(b'J');
        out.extend_from_slice(&bytes[..4]);
    } else {
        out.extend_from_slice(&[0x8a, 8]);
        out.extend_from_slice(&bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Items, View, parse};
    use super::*;

    #[test]
    fn numbers_of_every_width_come_back() {
        for int in [0, 255, 256, 65_535, 65_536, -1, -2, 1 << 31, -(1 << 40), i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            put_int(&mut out, int);
            out.push(b'.');
            let pickle = parse(&out).unwrap();
            assert!(
                matches!(pickle.view(pickle.root()), View::Int(found) if found == int),
                "{int}"
            );
        }
    }

    #[test]
    fn a_dict_of_sets_comes_back() {
        let mut out = [BEGIN, PAIRS].concat();
        put_int(&mut out, 5);
        put_set(&mut out, &[Entity(3), Entity(u32::MAX)]);
        out.extend_from_slice(&[PUT_PAIRS, END].concat());
        let pickle = parse(&out).unwrap();
        let View::Dict(pairs) = pickle.view(pickle.root()) else { panic!() };
        assert!(matches!(
            pickle.view(pairs[0].1),
            View::Set(Items::Ints(ints)) if ints == [3, u32::MAX]
        ));
    }
}
