fn main() {
    let a: Vec<String> = std::env::args().collect();
    let m = lab::mounts::Mounts::parse(&a[1], &std::fs::read_to_string(&a[1]).unwrap()).unwrap();
    let r = lab::mounts::run(&m, a[2].as_ref(), &mut |t| eprintln!("{t}")).unwrap();
    for row in &r.rows {
        let p = row.predicted.clone().unwrap_or_default();
        println!("{:16} {:12} {} {:9.3} ms {:9.3} {:+6.1} %  reads {:?} {:?} bytes {:?} {:?} w {:?} {:?} {}", row.image, row.storage, if row.fit {"fit"} else {"   "}, row.measured.ns as f64/1e6, p.figures.ns as f64/1e6, row.error_percent().unwrap_or(0.0), row.measured.reads.unwrap_or(0), p.figures.reads.unwrap_or(0), row.measured.read_bytes.unwrap_or(0), p.figures.read_bytes.unwrap_or(0), row.measured.writes.unwrap_or(0), p.figures.writes.unwrap_or(0), p.state);
    }
    println!("{:?}", r.failures);
}
