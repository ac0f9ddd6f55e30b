//! Query sets through every format and back, against Python, and against damage.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use skolem_kg::dataset::kgreasoning::Files;
use skolem_kg::dataset::{
    Answers, Example, ExampleWriter, Origin, compact, compare, create, jsonl, kgreasoning, pickle,
    read,
};
use skolem_kg::query::tuple::Tuple;
use skolem_kg::rng::Rng;
use skolem_kg::{Entity, Query, Relation, Result, Split};

fn any_query() -> impl Strategy<Value = Query> {
    let id = prop_oneof![0u32..300, any::<u32>()];
    let anchor = id.clone().prop_map(|id| Query::Anchor(Entity(id)));
    anchor.prop_recursive(6, 24, 4, move |inner| {
        prop_oneof![
            4 => (id.clone(), inner.clone()).prop_map(|(id, set)| set.follow(Relation(id))),
            1 => inner.clone().prop_map(Query::not),
            2 => prop::collection::vec(inner.clone(), 1..5).prop_map(Query::And),
            1 => prop::collection::vec(inner, 1..5).prop_map(Query::Or),
        ]
    })
}

fn any_list() -> impl Strategy<Value = Answers> {
    let id = prop_oneof![0u32..1000, any::<u32>()];
    prop::collection::vec(id.prop_map(Entity), 0..20).prop_map(Answers::listed)
}

fn any_answers() -> impl Strategy<Value = Answers> {
    let count = (0usize..1 << 40).prop_map(Answers::Count);
    prop_oneof![1 => Just(Answers::Unknown), 1 => count, 3 => any_list()]
}

fn any_examples(answers: BoxedStrategy<Answers>) -> impl Strategy<Value = Vec<Example>> {
    let example = (any_query(), answers.clone(), answers).prop_map(|(query, easy, hard)| Example {
        query,
        easy,
        hard,
    });
    prop::collection::vec(example, 0..20)
}

fn write(path: &Path, examples: &[Example]) {
    let mut writer = create(path, Origin { graph: 5, split: None }).unwrap();
    examples.iter().for_each(|example| writer.write(example).unwrap());
    writer.finish().unwrap();
}

// Every case syncs its files to the disk, which takes most of the time: hence so few of them.
proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn any_set_comes_back_from_json_and_from_the_compact_format(
        examples in any_examples(any_answers().boxed())
    ) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.jsonl", "a.jsonl.gz", "a.skq"] {
            let path = folder.path().join(name);
            write(&path, &examples);
            let found: Vec<Example> = read(&path).unwrap().map(Result::unwrap).collect();
            prop_assert_eq!(&found, &examples, "{}", name);
        }
        prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn any_set_comes_back_from_pickles(
        mut examples in any_examples(any_list().boxed()),
        split in prop::sample::select(&Split::ALL[..]),
    ) {
        let folder = tempfile::tempdir().unwrap();
        // Dicts hold a query once, and give them in an order of their own.
        examples.sort_by(|one, other| one.query.cmp(&other.query));
        examples.dedup_by(|one, other| one.query == other.query);
        if split == Split::Train {
            examples.iter_mut().for_each(|example| example.hard = Answers::listed(vec![]));
        }
        let path = folder.path().join(format!("{split}-queries.pkl"));
        write(&path, &examples);
        let same = compare(read(&path).unwrap(), examples.iter().cloned().map(Ok)).unwrap();
        prop_assert!(same.is_same(), "{:?}", same.first_difference);
        let mut found: Vec<Example> = read(&path).unwrap().map(Result::unwrap).collect();
        found.sort_by(|one, other| one.query.cmp(&other.query));
        prop_assert_eq!(&found, &examples);
    }
}

/// One query of each named shape and of some others, each with answers.
fn some_examples() -> Vec<Example> {
    let queries = [
        "[453,[74]]",
        "[6856,[284,357]]",
        "[6856,[284,357,260]]",
        "[[90,[217]],[1566,[178]]]",
        "[[11833,[307]],[2941,[14]],[32,[57]]]",
        "[[774,[237,97]],[6586,[16]]]",
        "[[[424,[300]],[10481,[262]]],[295]]",
        "[[2279,[142]],[384,[87,-2]]]",
        "[[32,[97]],[3183,[44]],[434,[171,-2]]]",
        "[[[1248,[14]],[32,[57,-2]]],[24]]",
        "[[32,[30,287]],[4722,[249,-2]]]",
        "[[5348,[166,188,-2]],[6568,[285]]]",
        "[[3309,[273]],[6765,[12]],[-1]]",
        "[[[4732,[43]],[2456,[165]],[-1]],[48]]",
        "[[[1,[2,-2]],[3,[4,-2]]],[-2,5]]",
        "[70000,[]]",
        "[[1,[2]],[3,[4]],[5,[6]],[7,[8]],[4294967295,[3000000000]]]",
    ];
    let mut rng = Rng::new(3);
    let mut list = |most: usize| {
        let entities = (0..rng.below(most)).map(|_| Entity(rng.below(90_000) as u32)).collect();
        Answers::listed(entities)
    };
    queries
        .iter()
        .map(|json| {
            let query = serde_json::from_str::<Tuple>(json).unwrap().to_query().unwrap();
            Example { query, easy: list(2000), hard: list(50) }
        })
        .collect()
}

const CHECK: &str = r#"
import collections, json, pickle, sys
folder = sys.argv[1]

def nested(value):
    return tuple(map(nested, value)) if isinstance(value, list) else value

def shape(query):
    if all(isinstance(part, int) for part in query):
        return tuple({-2: 'n', -1: 'u'}.get(part, 'r') for part in query)
    return tuple('e' if isinstance(part, int) else shape(part) for part in query)

def load(name):
    with open(f'{folder}/{name}.pkl', 'rb') as file:
        loaded = pickle.load(file)
    assert type(loaded) is collections.defaultdict, type(loaded)
    assert loaded.default_factory is set, loaded.default_factory
    return loaded

lines = [json.loads(line) for line in sys.stdin]
queries = collections.defaultdict(set)
easy, hard = collections.defaultdict(set), collections.defaultdict(set)
for line in lines:
    query = nested(line['q'])
    queries[shape(query)].add(query)
    easy[query], hard[query] = set(line['easy']), set(line['hard'])
for split in ['valid', 'test']:
    assert load(f'{split}-queries') == queries
    assert load(f'{split}-easy-answers') == easy
    assert load(f'{split}-hard-answers') == hard
assert load('train-queries') == queries
assert load('train-answers') == easy
assert ('e', ('r',)) in queries
assert (('e', ('r',)), ('e', ('r', 'n'))) in queries
assert ((('e', ('r',)), ('e', ('r',)), ('u',)), ('r',)) in queries
# Back to us, by every protocol Python has.
for protocol in range(6):
    for name, value in [('queries', queries), ('easy-answers', easy), ('hard-answers', hard)]:
        with open(f'{folder}/p{protocol}-{name}.pkl', 'wb') as file:
            pickle.dump(value, file, protocol)
print(len(lines), 'queries are the same')
"#;

#[test]
fn python_and_we_read_each_others_pickles() {
    let folder = tempfile::tempdir().unwrap();
    let examples = some_examples();
    let lines = folder.path().join("all.jsonl");
    write(&lines, &examples);
    for split in Split::ALL {
        let mut writer = Box::new(kgreasoning::Writer::create(folder.path(), split).unwrap());
        for example in &examples {
            let mut example = example.clone();
            if split == Split::Train {
                example.hard = Answers::listed(vec![]);
            }
            writer.write(&example).unwrap();
        }
        writer.finish().unwrap();
    }
    let python = Command::new("python3")
        .args(["-c", CHECK])
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut python = match python {
        Ok(python) => python,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("SKIPPED: python3 not found");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    python.stdin.take().unwrap().write_all(&std::fs::read(&lines).unwrap()).unwrap();
    let output = python.wait_with_output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(out.trim(), format!("{} queries are the same", examples.len()), "{err}");

    for protocol in 0..=5 {
        let path = folder.path().join(format!("p{protocol}-queries.pkl"));
        let same = compare(read(&path).unwrap(), read(&lines).unwrap()).unwrap();
        assert!(same.is_same(), "protocol {protocol}: {:?}", same.first_difference);
        let compared: usize = same.shapes.iter().map(|shape| shape.answers_compared).sum();
        assert_eq!(compared, 2 * examples.len());
    }
}

/// How many damaged files each reader gets; more with `SKOLEM_CASES=1000000`.
fn cases() -> u64 {
    std::env::var("SKOLEM_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000)
}

/// A copy with a few bytes changed, put in, taken out, repeated, or cut off.
fn damaged(whole: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(bytes.len());
        let end = at + rng.below(bytes.len() - at + 1).min(40);
        match rng.below(8) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << rng.below(8),
            1 if !bytes.is_empty() => bytes[at] = rng.next() as u8,
            2 if !bytes.is_empty() => bytes[at] = *rng.pick(whole).unwrap(),
            3 => bytes.insert(at, rng.next() as u8),
            4 => drop(bytes.drain(at..end)),
            5 => {
                let part = bytes[at..end].to_vec();
                let to = rng.below(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            6 => bytes.truncate(bytes.len() - rng.below(20).min(bytes.len())),
            _ => bytes[at..end].fill(*rng.pick(&[0, 0x7f, 0x80, 0xff]).unwrap()),
        }
    }
    bytes
}

fn small_examples() -> Vec<Example> {
    let mut examples = some_examples();
    for example in &mut examples {
        for answers in [&mut example.easy, &mut example.hard] {
            if let Answers::Listed(entities) = answers {
                entities.truncate(4);
            }
        }
    }
    examples
}

#[test]
fn a_damaged_compact_file_never_gives_wrong_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.skq");
    let examples = small_examples();
    write(&path, &examples);
    let whole = std::fs::read(&path).unwrap();
    for case in 0..cases() {
        let bytes = damaged(&whole, &mut Rng::stream(1, case, 0));
        let Ok(reader) = compact::Reader::new(&bytes[..], &path) else { continue };
        let found: Vec<Result<Example>> = reader.collect();
        let good: Vec<&Example> = found.iter().map_while(|found| found.as_ref().ok()).collect();
        assert!(good.iter().zip(&examples).all(|(one, other)| *one == other), "case {case}");
        // Only an undamaged file is read to its end.
        assert_eq!(found.len() == good.len(), bytes == whole, "case {case}");
    }
}

#[test]
fn damaged_json_is_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    write(&path, &small_examples());
    let whole = std::fs::read(&path).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
    for case in 0..cases() {
        let mut rng = Rng::stream(2, case, 0);
        let line = rng.pick(&lines).unwrap();
        let bytes = damaged(line, &mut rng);
        jsonl::Reader::new(&bytes[..], &path).for_each(drop);
    }
}

#[test]
fn damaged_pickles_are_read_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test-queries.pkl");
    write(&path, &small_examples());
    let whole = ["test-queries.pkl", "test-easy-answers.pkl", "test-hard-answers.pkl"]
        .map(|name| std::fs::read(folder.path().join(name)).unwrap());
    for case in 0..cases() {
        let mut rng = Rng::stream(3, case, 0);
        let mut bytes = whole.clone();
        let which = rng.below(3);
        bytes[which] = damaged(&whole[which], &mut rng);
        let _ = pickle::parse(&bytes[which]).map(|pickle| pickle.view(pickle.root()).kind());
        let [queries, easy, hard] = bytes.each_ref().map(|bytes| &bytes[..]);
        let (easy, hard) = (Some((&*path, easy)), Some((&*path, hard)));
        let files = Files { path: &path, queries, easy, hard, training: false };
        if let Ok(reader) = kgreasoning::Reader::from_files(&files) {
            reader.for_each(drop);
        }
    }
}

#[test]
#[rustfmt::skip::macros(vec)]
fn random_instructions_are_read_or_refused() {
    let instructions: Vec<&[u8]> = vec![
        b"(", b")", b"]", b"}", b"\x8f", b"\x85", b"\x86", b"\x87", b"t", b"l", b"d", b"a", b"e",
        b"s", b"u", b"\x90", b"\x91", b"2", b"0", b"1", b"N", b"\x88", b"K\x01", b"J\xfe\xff\xff\xff",
        b"X\x01\0\0\0e", b"X\x01\0\0\0r", b"q\x00", b"q\x01", b"h\x00", b"h\x01", b"\x94", b"R",
        b"cbuiltins\nset\n", b"ccollections\ndefaultdict\n", b"cbuiltins\nlist\n", b"\x93",
    ];
    let path = Path::new("x");
    let mut read = 0;
    for case in 0..cases() {
        let mut rng = Rng::stream(4, case, 0);
        let mut bytes = Vec::new();
        for _ in 0..1 + rng.below(30) {
            bytes.extend_from_slice(rng.pick(&instructions).unwrap());
        }
        bytes.push(b'.');
        read += u64::from(pickle::parse(&bytes).is_ok());
        let files = Files { path, queries: &bytes, easy: None, hard: None, training: true };
        if let Ok(reader) = kgreasoning::Reader::from_files(&files) {
            reader.for_each(drop);
        }
    }
    assert!(read > 0);
}
