use super::*;
use crate::Seed;
use crate::random::normal;

/// Rows around twelve centres, in 64 columns.
fn clouds(count: usize) -> Dense {
    let mut rng = Seed(3).stream("clouds");
    let centres: Vec<f32> = (0..12 * 64).map(|_| 2.0 * normal(&mut rng)).collect();
    let values = (0..count * 64).map(|at| centres[at / 64 % 12 * 64 + at % 64] + normal(&mut rng));
    Dense::new(count, 64, values.collect::<Vec<f32>>()).unwrap()
}

fn map(rows: &Dense) -> Map {
    Map::of(rows, Budget::default()).unwrap()
}

/// The share of each row's ten nearest of its own group on the map.
fn together(map: &Map, groups: usize) -> f64 {
    let search = NeighborSearch::new(&map.places, Metric::Euclidean, Budget::default()).unwrap();
    let all: Vec<u32> = (0..map.places.rows() as u32).collect();
    let found = search.of_nodes(&all, Wanted::default()).unwrap();
    let same = |(row, found): (usize, &Vec<Neighbor>)| {
        found.iter().filter(|other| other.node as usize % groups == row % groups).count() as f64 / 10.0
    };
    found.iter().enumerate().map(same).sum::<f64>() / all.len() as f64
}

#[test]
fn groups_stay_together() {
    let map = map(&clouds(600));
    assert!(together(&map, 12) > 0.99, "{}", together(&map, 12));
    let widest = map.places.values().iter().fold(0f32, |widest, x| widest.max(x.abs()));
    assert!((5.0..200.0).contains(&widest), "{widest}");
}

#[test]
fn the_nearest_are_those_of_an_exact_search() {
    let rows = clouds(600);
    let search = NeighborSearch::new(&rows, Metric::Cosine, Budget::default()).unwrap();
    let all: Vec<u32> = (0..600).collect();
    let want = search.of_nodes(&all, Wanted { count: NEIGHBORS, min_score: None }).unwrap();
    let found = map(&rows).nearest;
    let hits = |(found, want): (&Vec<Neighbor>, &Vec<Neighbor>)| {
        found
            .iter()
            .filter(|a| want.iter().any(|b| a.node == b.node && (a.score - b.score).abs() < 1e-5))
            .count()
    };
    let hits: usize = found.iter().zip(&want).map(hits).sum();
    assert!(hits as f64 > 0.97 * (600 * NEIGHBORS) as f64, "{hits}");
}

#[test]
fn threads_change_nothing() {
    let rows = clouds(3000);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| map(&rows))
    };
    let alone = run(1);
    assert!([2, 3].into_iter().all(|threads| run(threads) == alone));
}

#[test]
fn odd_rows_have_places() {
    let dense = |rows, cols, values: Vec<f32>| Dense::new(rows, cols, values).unwrap();
    assert_eq!(map(&dense(0, 3, vec![])).places.rows(), 0);
    let one = map(&dense(1, 3, vec![1.0, 2.0, 3.0]));
    assert_eq!((one.places.values(), &one.nearest[..]), (&[0.0, 0.0][..], &[vec![]][..]));
    for rows in [
        dense(2, 1, vec![1.0, -1.0]),
        dense(5, 1, vec![1e-30; 5]),
        dense(700, 2, vec![0.5; 1400]),
        dense(40, 60, vec![0.0; 2400]),
        dense(30, 4, (0..120).map(|at| if at < 60 { 1e17 } else { -1e-17 }).collect()),
    ] {
        let map = map(&rows);
        assert_eq!((map.places.rows(), map.nearest.len()), (rows.rows(), rows.rows()));
        assert!(map.places.values().iter().all(|x| x.is_finite() && x.abs() < 1e4));
        let mut places: Vec<&[f32]> = map.places.values().chunks(2).collect();
        places.sort_by(|a, b| a[0].total_cmp(&b[0]));
        assert!(places.windows(2).all(|two| two[0] != two[1]), "each has a place of its own: {places:?}");
    }
}

#[test]
fn what_has_no_map_is_an_error() {
    let error = |rows: Dense| Map::of(&rows, Budget::default()).unwrap_err().to_string();
    let mut values = vec![1.0; 12];
    values[7] = f32::NAN;
    assert_eq!(error(Dense::computed(3, values)), "row 2 has values that are not finite");
    let many = error(Dense::new(MOST + 1, 1, vec![1.0; MOST + 1]).unwrap());
    assert!(
        many.starts_with("a map of 131073 rows would take too long; choose at most 131072 of them"),
        "{many}"
    );
    assert_eq!(error(Dense::computed(0, vec![]).with_rows(4)), "the rows have no columns to compare");
}

#[test]
fn a_sample_has_each_row_at_most_once() {
    assert_eq!(sample(5, 9), [0, 1, 2, 3, 4]);
    let some = sample(1000, 300);
    assert!(some.len() == 300 && some.windows(2).all(|two| two[0] < two[1]) && some[299] < 1000);
}
