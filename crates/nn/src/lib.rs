//! The arithmetic of logic embeddings; it knows no graph.
//!
//! Everything is written once for any [`Real`] number: `f32` for work, `f64` for checking gradients
//! against finite differences. Matrices are slices, row after row.
//!
//! | module | what it holds |
//! |---|---|
//! | [`kernel`] | inner loops, compiled for each set of vector instructions and chosen at run time |
//! | [`op`] | one file an operation: its equation, forward, backward, gradient check |
//! | [`kernel::matmul`] | matrix products, the same whatever the number of threads |
//! | [`rows`] | work on the rows of a matrix by all threads |
//! | [`coarse`] | rows rounded to bytes, for looking through many of them |
//! | [`optim`] | Adam, dense and lazy |

pub mod coarse;
pub mod kernel;
pub mod op;
pub mod optim;
pub mod real;
pub mod rows;

pub use real::Real;
