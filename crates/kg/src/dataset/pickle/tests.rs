use super::*;

fn error(bytes: &[u8]) -> String {
    parse(bytes).err().map_or("read".into(), |error| error.to_string())
}

#[test]
fn nothing_can_be_called() {
    let allowed = "(only collections.defaultdict and builtins.set are allowed)";
    for (bytes, name) in [
        (&b"\x80\x03cos\nsystem\nX\x02\0\0\0ls\x85R."[..], "os.system"),
        (b"\x80\x03cposix\nsystem\n.", "posix.system"),
        (b"\x80\x03cbuiltins\neval\n.", "builtins.eval"),
        (b"\x80\x03c__builtin__\nexec\n.", "__builtin__.exec"),
        (b"\x80\x03ccollections\nOrderedDict\n.", "collections.OrderedDict"),
        (b"\x80\x03ccollections\nset\n.", "collections.set"),
    ] {
        assert_eq!(error(bytes), format!("byte 2: refuses to load '{name}' {allowed}"));
    }
    let by_stack = error(b"\x80\x04\x8c\x02os\x8c\x06system\x93.");
    assert!(by_stack.starts_with("byte 14: refuses to load 'os.system'"), "{by_stack}");
    for op in [&b"b"[..], b"i", b"o", b"P", b"Q", b"\x81", b"\x92", b"\x82", b"G", b"S", b"\x97"] {
        let said = error(&[b"N", op].concat());
        assert!(said.starts_with("byte 1: refuses the instruction"), "{said}");
    }
    assert!(error(b"NK\x01\x85R.").contains("no function"));
    assert!(error(b"cbuiltins\nint\n)R.").contains("refuses a call"));
    assert!(error(b"cbuiltins\nset\nK\x01\x85R.").contains("refuses a call"));
}

#[test]
fn lengths_and_numbers_are_not_believed() {
    for (bytes, why) in [
        (&b"X\xff\xff\xff\xffab."[..], "cut short"),
        (b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffab.", "cut short"),
        (b"\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", "cut short"),
        (b"\x8a\xffN.", "64 bits"),
        (b"\x8b\xff\xff\xff\xffN.", "64 bits"),
        (b"I99999999999999999999\n.", "64 bits"),
        (b"Nr\x00\x28\x6b\xee.", "too large"),
        (b"Np4000000000\n.", "too large"),
        (b"Nj\x00\x28\x6b\xee.", "not kept"),
        (b"g-1\n.", "no number"),
        (b"\x80\x09N.", "protocol 9"),
        (b"X\x01\0\0\0\xff.", "UTF-8"),
        (b"V\\uD800\n.", "decoded"),
        (b"", "cut short"),
        (b".", "no value"),
        (b"NN.", "ends before"),
        (b"N.N", "ends before"),
        (b"(.", "no value"),
        (b"t.", "no mark"),
        (b"N(\x85.", "no value"),
        (b"](a.", "no value"),
    ] {
        assert!(error(bytes).contains(why), "{why}: {}", error(bytes));
    }
}

#[test]
fn what_has_no_hash_is_no_key() {
    for bytes in [
        &b"}(]K\x01u."[..],
        b"}}K\x01s.",
        b"\x8f(]\x90.",
        b"(]\x91.",
        b"cbuiltins\nset\n](]e\x85R.",
    ] {
        assert!(error(bytes).contains("cannot be"), "{}", error(bytes));
    }
    assert!(error(b"}(K\x01u.").contains("cannot hold"));
    assert!(error(b"](K\x01u.").contains("cannot hold"));
    assert!(error(b"N(K\x01e.").contains("no container"));
}

#[test]
fn every_protocol_is_read() {
    // pickle.dumps({(1, (-2,)): {5, 300}, 'é€': [True, None, 70000]}, n), n = 0, 2, 4.
    for bytes in [
        &b"(dp0\n(I1\n(I-2\ntp1\ntp2\nc__builtin__\nset\np3\n((lp4\nI300\naI5\natp5\nRp6\nsV\xe9\\u20ac\np7\n(lp8\nI01\naNaI70000\nas."[..],
        b"\x80\x02}q\x00(K\x01J\xfe\xff\xff\xff\x85q\x01\x86q\x02c__builtin__\nset\nq\x03]q\x04(M,\x01K\x05e\x85q\x05Rq\x06X\x05\x00\x00\x00\xc3\xa9\xe2\x82\xacq\x07]q\x08(\x88NJp\x11\x01\x00eu.",
        b"\x80\x04\x95,\x00\x00\x00\x00\x00\x00\x00}\x94(K\x01J\xfe\xff\xff\xff\x85\x94\x86\x94\x8f\x94(M,\x01K\x05\x90\x8c\x05\xc3\xa9\xe2\x82\xac\x94]\x94(\x88NJp\x11\x01\x00eu.",
    ] {
        let pickle = parse(bytes).unwrap();
        let View::Dict([(key, set), (text, list)]) = pickle.view(pickle.root()) else {
            panic!()
        };
        let View::Tuple([one, two]) = pickle.view(*key) else { panic!() };
        assert!(matches!(pickle.view(*one), View::Int(1)));
        let View::Tuple([two]) = pickle.view(*two) else { panic!() };
        assert!(matches!(pickle.view(*two), View::Int(-2)));
        assert!(matches!(pickle.view(*set), View::Set(Items::Ints([300, 5]))));
        assert!(matches!(pickle.view(*text), View::Text("é€")));
        let View::List(items) = pickle.view(*list) else { panic!() };
        assert!(matches!(pickle.view(items.get(2).unwrap()), View::Int(70_000)));
    }
}

#[test]
fn a_set_is_a_copy_of_its_list() {
    // set(l), then l.append(2), then set.add(3) by way of the memo.
    let bytes = b"(cbuiltins\nset\n](K\x01eq\x00\x85Rq\x01h\x00K\x02ah\x01(K\x03\x90t.";
    let pickle = parse(bytes).unwrap();
    let View::Tuple([set, list, again]) = pickle.view(pickle.root()) else { panic!() };
    assert!(matches!(pickle.view(*set), View::Set(Items::Ints([1, 3]))));
    assert!(matches!(pickle.view(*list), View::List(Items::Ints([1, 2]))));
    assert_eq!(set, again);
}

#[test]
fn what_holds_itself_or_nests_deep_is_harmless() {
    let itself = parse(b"]q\x00h\x00a.").unwrap();
    assert!(matches!(itself.view(itself.root()), View::List(items) if items.len() == 1));
    let depth = 1_000_000;
    let lists = [vec![b']'; depth], vec![b'a'; depth - 1], vec![b'.']].concat();
    drop(parse(&lists).unwrap());
    let tuples = [vec![b')'], vec![0x85; depth], vec![b'.']].concat();
    drop(parse(&tuples).unwrap());
    let doubled = [vec![b')'], b"2\x86".repeat(60), vec![b'.']].concat();
    drop(parse(&doubled).unwrap());
    let marks = [vec![b'('; depth], vec![b'.']].concat();
    assert!(parse(&marks).is_err());
}

#[test]
fn copies_are_counted() {
    // A list of 1,000 numbers, copied 1,000 times by a few bytes each.
    let mut bytes = b"(cbuiltins\nlist\nq\x01](".to_vec();
    bytes.extend(b"K\x01".repeat(1000));
    bytes.extend(b"eq\x00");
    bytes.extend(b"h\x01h\x00\x85R".repeat(1000));
    bytes.extend(b"t.");
    assert!(error(&bytes).contains("copies more"));
}

#[test]
fn values_are_small() {
    assert_eq!(size_of::<Value>(), 16);
    assert_eq!(size_of::<Option<Value>>(), 16);
    assert!(size_of::<Container>() <= 40);
}

#[test]
fn a_list_of_numbers_turns_into_one_of_anything() {
    let mut store = Store::Ints(vec![]);
    store.extend(&[Value(Slot::Int(5)), Value(Slot::Int(-1)), Value(Slot::Int(7))]);
    assert_eq!(store.items().len(), 3);
    assert_eq!(store.items().get(0), Some(Value(Slot::Int(5))));
    assert_eq!(store.items().get(1), Some(Value(Slot::Int(-1))));
    assert!(matches!(store, Store::Values(_)));
}
