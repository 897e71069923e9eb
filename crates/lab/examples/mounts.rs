fn main() {
    let a: Vec<String> = std::env::args().collect();
    let m = lab::mounts::Mounts::parse(&a[1], &std::fs::read_to_string(&a[1]).unwrap()).unwrap();
    let r = lab::mounts::run(&m, a[2].as_ref(), &mut |t| eprintln!("{t}")).unwrap();
    for row in &r.rows { println!("{:22} {:12} {:9.3} ms  r {:4} {:8} w {:4} {:8}", row.case, row.storage, row.measured_ns as f64/1e6, row.reads, row.read_bytes, row.writes, row.written_bytes); }
    println!("{:?}", r.failures);
}
