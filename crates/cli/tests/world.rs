//! The built-in graph makes sense.

mod support;

use std::collections::{BTreeMap, BTreeSet};

type Triple<'a> = (&'a str, &'a str, &'a str);

/// What each relation leads from and to.
const KINDS: [(&str, &str, &str); 16] = [
    ("arm_of", "sea", "sea"),
    ("borders", "country", "country"),
    ("capital", "country", "city"),
    ("coast_on", "country", "sea"),
    ("continent", "country", "continent"),
    ("currency", "country", "currency"),
    ("drives_on", "country", "side"),
    ("government", "country", "government"),
    ("headquarters", "organisation", "city"),
    ("language_family", "language", "family"),
    ("largest_city", "country", "city"),
    ("located_in", "city", "country"),
    ("member_of", "country", "organisation"),
    ("official_language", "country", "language"),
    ("part_of", "region", "continent"),
    ("region", "country", "region"),
];

const TWO_CONTINENTS: [&str; 6] =
    ["Azerbaijan", "Egypt", "Georgia", "Kazakhstan", "Russia", "Turkey"];

/// The triples, in memory for the length of the tests.
fn world() -> Vec<Triple<'static>> {
    let text = std::fs::read_to_string(support::WORLD).expect("the world is there");
    let triple = |line: &'static str| match line.split('\t').collect::<Vec<_>>()[..] {
        [head, relation, tail] => (head, relation, tail),
        _ => panic!("{line:?} has not three fields"),
    };
    text.leak().lines().map(triple).collect()
}

/// The pairs of one relation.
fn pairs<'a>(world: &[Triple<'a>], relation: &str) -> Vec<(&'a str, &'a str)> {
    let chosen = world.iter().filter(|triple| triple.1 == relation);
    chosen.map(|&(head, _, tail)| (head, tail)).collect()
}

/// For each head of a relation, its tails.
fn tails<'a>(world: &[Triple<'a>], relation: &str) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut map = BTreeMap::<_, BTreeSet<_>>::new();
    for (head, tail) in pairs(world, relation) {
        map.entry(head).or_default().insert(tail);
    }
    map
}

fn countries<'a>(world: &[Triple<'a>]) -> BTreeSet<&'a str> {
    pairs(world, "region").into_iter().map(|(country, _)| country).collect()
}

#[test]
fn it_is_large_enough_and_has_no_duplicates() {
    let world = world();
    assert!(world.len() >= 3000, "{} edges", world.len());
    assert_eq!(world.iter().collect::<BTreeSet<_>>().len(), world.len());
    for (head, relation, tail) in &world {
        for name in [head, relation, tail] {
            assert!(!name.is_empty() && name.trim() == *name, "{name:?} has blanks around it");
        }
    }
}

#[test]
fn each_name_is_one_kind_of_thing() {
    let mut kinds = BTreeMap::new();
    let mut used = BTreeSet::new();
    for (head, relation, tail) in world() {
        let known = KINDS.iter().find(|kind| kind.0 == relation);
        let (_, from, to) = known.unwrap_or_else(|| panic!("what is {relation}?"));
        used.insert(relation);
        for (name, kind) in [(head, from), (tail, to)] {
            let before = kinds.insert(name, kind).unwrap_or(kind);
            assert_eq!(before, kind, "{name} is two kinds of things");
        }
    }
    assert_eq!(used.len(), KINDS.len(), "only {used:?} are there");
}

#[test]
fn borders_go_both_ways() {
    let world = world();
    let borders: BTreeSet<_> = pairs(&world, "borders").into_iter().collect();
    assert!(borders.len() > 600);
    for (a, b) in &borders {
        assert!(a != b, "{a} borders itself");
        assert!(borders.contains(&(*b, *a)), "{a} borders {b}, not the other way");
    }
}

#[test]
fn each_country_is_in_one_region_of_its_continents() {
    let world = world();
    let (regions, continents) = (tails(&world, "region"), tails(&world, "continent"));
    let part_of = tails(&world, "part_of");
    for country in countries(&world) {
        assert_eq!(regions[country].len(), 1, "regions of {country}");
        let expected = if TWO_CONTINENTS.contains(&country) { 2 } else { 1 };
        assert_eq!(continents[country].len(), expected, "continents of {country}");
        for region in &regions[country] {
            let of = &part_of[region];
            assert_eq!(of.len(), 1, "continents of {region}");
            assert!(of.is_subset(&continents[country]), "{country} in {region} in {of:?}");
        }
    }
}

#[test]
fn each_country_has_its_capitals() {
    let world = world();
    let capitals = tails(&world, "capital");
    for country in countries(&world) {
        let expected = match country {
            "Vatican City" => 0,
            "Bolivia" => 2,
            "South Africa" => 3,
            _ => 1,
        };
        assert_eq!(capitals.get(country).map_or(0, BTreeSet::len), expected, "{country}");
    }
}

#[test]
fn whatever_is_named_is_described() {
    let world = world();
    let countries = countries(&world);
    assert!(countries.len() > 190);
    for (relation, from, to) in KINDS {
        for (head, tail) in pairs(&world, relation) {
            assert!(from != "country" || countries.contains(head), "{head} {relation}");
            assert!(to != "country" || countries.contains(tail), "{relation} {tail}");
        }
    }
    let described = [
        ("capital", "located_in"),
        ("largest_city", "located_in"),
        ("headquarters", "located_in"),
        ("official_language", "language_family"),
        ("region", "part_of"),
    ];
    for (relation, description) in described {
        let known = tails(&world, description);
        for (head, tail) in pairs(&world, relation) {
            let count = known.get(tail).map_or(0, BTreeSet::len);
            assert_eq!(count, 1, "{head} {relation} {tail}: {description}");
        }
    }
    // Every country has these.
    for relation in ["continent", "currency", "official_language", "drives_on"] {
        assert_eq!(tails(&world, relation).into_keys().collect::<BTreeSet<_>>(), countries);
    }
}

#[test]
fn cities_lie_where_they_are_capital() {
    let world = world();
    let located = tails(&world, "located_in");
    for relation in ["capital", "largest_city"] {
        for (country, city) in pairs(&world, relation) {
            assert!(located[city].contains(country), "{city} is not in {country}");
        }
    }
}

#[test]
fn organisations_have_their_members() {
    let world = world();
    let members = pairs(&world, "member_of");
    let expected = [
        ("ASEAN", 11),
        ("African Union", 54),
        ("Commonwealth", 56),
        ("EU", 27),
        ("Eurozone", 20),
        ("G7", 7),
        ("NATO", 32),
        ("OECD", 38),
        ("OPEC", 12),
        ("Schengen", 29),
        ("United Nations", 193),
    ];
    for (organisation, number) in expected {
        let count = members.iter().filter(|pair| pair.1 == organisation).count();
        assert_eq!(count, number, "members of {organisation}");
    }
}
