use convoke_planning::StepIndex;

use super::Shape;

#[test]
fn a_plan_and_its_floor_have_the_same_edges() {
    for shape in [Shape::Chain, Shape::Wide, Shape::Layered] {
        for units in [1, 2, 10, 100] {
            let (plan, graph) = (shape.plan(units).unwrap(), shape.graph(units).unwrap());
            let of_plan: Vec<Vec<usize>> = plan
                .indices()
                .map(|step| plan.dependents(step).map(|edge| edge.step).map(StepIndex::row).collect())
                .collect();
            let of_graph: Vec<Vec<usize>> = (0..units)
                .map(|step| graph.dependents(step).iter().map(|step| *step as usize).collect())
                .collect();
            assert_eq!(of_plan, of_graph, "{shape:?} of {units}");
            let waits: Vec<_> = plan.indices().map(|step| plan.dependencies(step).count()).collect();
            assert_eq!(waits, graph.waits.iter().map(|waits| *waits as usize).collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_layer_waits_for_at_most_two_of_the_one_before() {
    let graph = Shape::Layered.graph(100).unwrap();
    assert_eq!(graph.waits[..10], [0; 10]);
    assert!(graph.waits[10..].iter().all(|waits| (1..=2).contains(waits)), "{:?}", graph.waits);
    for step in 0..100 {
        assert!(graph.dependents(step).iter().all(|later| *later as usize / 10 == step / 10 + 1));
    }
}
