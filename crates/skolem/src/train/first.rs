//! First truth values of entities that know the graph: entities with the same relations, and with the same
//! neighbours, start close to each other.
//!
//! Every relation, and every relation with a neighbour, has a fixed row of random signs. An entity's row is
//! the sum of the signs of what it has, the rarer the heavier: a random projection of its list of edges,
//! which keeps the distances of these lists (Johnson and Lindenstrauss). What would take many updates to come
//! about, that films are near films, is there from the start.

use skolem_kg::rng::Rng;
use skolem_kg::{Edges, Entity, Relation};
use skolem_nn::{Real, rows};

/// Part of the random numbers.
const SIGNS: u64 = 0x7369_676e_7300;

/// A row of numbers in [0, 1] for each entity, made from its edges; `spread` says how far around ½.
pub fn from_graph<F: Real>(edges: Edges<'_>, width: usize, spread: f64, seed: u64) -> Vec<F> {
    let all = edges.entity_count().max(2) as f64;
    let rarity = |count: usize| (all / count.max(1) as f64).ln().max(0.1) as f32;
    let mut table = vec![F::zero(); edges.entity_count() * width];
    rows::each(&mut table, width, |number, row| {
        let entity = Entity(number as u32);
        let mut sum = vec![0f32; width];
        for (relation, neighbours) in edges.of(entity) {
            let having = edges.sources(relation).len();
            add_signs(&mut sum, rarity(having), seed, relation, None);
            let share = 1.0 / (neighbours.len() as f32).sqrt();
            for &neighbour in neighbours {
                let back = edges.neighbours(neighbour, relation.inverse()).len();
                add_signs(&mut sum, share * rarity(back), seed, relation, Some(neighbour));
            }
        }
        let square: f32 = sum.iter().map(|x| x * x).sum();
        let scale = spread / f64::from((square / width as f32).sqrt().max(1e-6));
        for (x, sum) in row.iter_mut().zip(sum) {
            *x = F::of(0.5 + 0.5 * (scale * f64::from(sum)).tanh());
        }
    });
    table
}

/// Adds the signs of a relation, or of a relation with a neighbour, times a weight.
fn add_signs(
    sum: &mut [f32],
    weight: f32,
    seed: u64,
    relation: Relation,
    neighbour: Option<Entity>,
) {
    let step = neighbour.map_or(0, |neighbour| 1 + u64::from(neighbour.0));
    let mut rng = Rng::stream(seed, SIGNS + relation.index() as u64, step);
    for part in sum.chunks_mut(64) {
        let bits = rng.next();
        for (at, x) in part.iter_mut().enumerate() {
            *x += if bits >> at & 1 == 1 { weight } else { -weight };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skolem_kg::{GraphBuilder, Split};

    #[test]
    fn entities_with_the_same_edges_start_close() {
        let mut builder = GraphBuilder::default();
        for film in 0..20 {
            let [film, star] = [format!("film{film}"), format!("star{}", film % 5)];
            builder.edge_named(Split::Train, &film, "stars", &star).unwrap();
        }
        for city in 0..20 {
            let land = format!("land{}", city % 3);
            builder.edge_named(Split::Train, &format!("city{city}"), "in", &land).unwrap();
        }
        let graph = builder.finish().unwrap().0;
        let table: Vec<f64> = from_graph(graph.edges(Split::Train).unwrap(), 64, 0.5, 1);
        assert!(table.iter().all(|x| (0.0..=1.0).contains(x)));
        let row = |name: &str| {
            let entity = graph.entity(name).unwrap().index();
            &table[entity * 64..][..64]
        };
        let distance = |a: &str, b: &str| -> f64 {
            row(a).iter().zip(row(b)).map(|(a, b)| (a - b).abs()).sum()
        };
        assert!(distance("film0", "film5") < 1e-9);
        assert!(distance("film0", "film1") < distance("film0", "city1"));
        assert!(distance("film0", "film5") < distance("film0", "film1"));
    }
}
