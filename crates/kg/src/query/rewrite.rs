//! Laws (being written).
