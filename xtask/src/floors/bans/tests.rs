use super::banned;

#[test]
fn only_whole_names_are_banned() {
    let tree = "convoke v0.1.0 (/somewhere)\nringbuf v1.0.0\ntokio v1.54.0\n\nconvoke-core v0.1.0 (*)\n";
    assert_eq!(banned(tree), Vec::<String>::new());
}

#[test]
fn a_banned_package_is_named_once_with_its_reason() {
    let lines = banned("convoke v0.1.0\npetgraph v0.8.0\nrustls v0.23.0\npetgraph v0.8.0 (*)\n");
    let reasons: Vec<_> = lines.iter().map(|line| line.split(" is behind").next().unwrap()).collect();
    assert_eq!(reasons, ["convoke -> .. -> rustls: TLS", "convoke -> .. -> petgraph: an optional layer"]);
}
