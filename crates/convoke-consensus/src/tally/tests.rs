//! The count against a plain model of it, and what must hold of any count.

use proptest::prelude::*;

use super::*;

/// Who votes what: an answer, a spoilt ballot, a failure.
type Cast = (usize, Ballot);

fn agents(count: usize) -> Vec<AgentId> {
    (0..count).map(|number| AgentId::new(format!("agent {number}")).unwrap()).collect()
}

fn vote(answer: &str) -> Ballot {
    Ballot::Vote(Answer::text(answer))
}

fn count(rules: Rules, weights: &[u32], casts: &[Cast]) -> Tally {
    let agents = agents(weights.len());
    let mut tally = Tally::new(rules, agents.iter().cloned().zip(weights.iter().copied()));
    for (voter, ballot) in casts {
        tally.record(&agents[*voter], ballot.clone());
    }
    tally
}

/// What a count of heads and weights says at its end, the plain way: who has it, if anybody.
fn winner(rules: Rules, weights: &[u32], ballots: &[Ballot]) -> Option<Answer> {
    let succeeded: Vec<_> = (0..weights.len()).filter(|&one| ballots[one] != Ballot::Failed).collect();
    if succeeded.len() < rules.minimum_successful_agents {
        return None;
    }
    let weigh = |who: &mut dyn Iterator<Item = usize>| who.map(|one| u64::from(weights[one])).sum::<u64>();
    let of = |answer: &Answer| {
        weigh(&mut succeeded.iter().copied().filter(|&one| ballots[one] == Ballot::Vote(answer.clone())))
    };
    let answers: Vec<_> = ["a", "b", "c", "d"].map(Answer::text).into();
    let basis = match rules.basis {
        Basis::Successful => weigh(&mut succeeded.iter().copied()),
        Basis::Participants => weigh(&mut (0..weights.len())),
    };
    let has_it = |answer: &&Answer| match rules.agreement {
        Agreement::StrictMajority => 2 * of(answer) > basis,
        Agreement::AtLeast(least) => {
            let mine = of(answer);
            mine >= least && answers.iter().all(|other| other == *answer || of(other) < mine)
        }
    };
    answers.iter().find(has_it).cloned()
}

fn reached(tally: &Tally) -> Option<Answer> {
    (tally.decision() == Decision::Reached).then(|| tally.leading().unwrap().answer.clone())
}

#[test]
fn who_is_named_twice_counts_once_with_the_last_weight() {
    let [one, two] = ["b", "a"].map(|id| AgentId::new(id).unwrap());
    let mut tally =
        Tally::new(Rules::new(), [(one.clone(), 5), (two.clone(), 1), (one.clone(), 2), (one.clone(), 3)]);
    assert_eq!(tally.required(), 3, "of 4");
    assert_eq!(tally.record(&two, vote("a")), Decision::Pending);
    assert_eq!(tally.record(&AgentId::new("c").unwrap(), vote("a")), Decision::Pending);
    assert_eq!(tally.record(&one, vote("b")), Decision::Reached);
    let votes: Vec<_> = tally.votes().into_iter().map(|votes| (votes.voters, votes.weight)).collect();
    assert_eq!(votes, [([one].into(), 3), ([two].into(), 1)]);
}

fn any_ballot() -> impl Strategy<Value = Ballot> {
    prop_oneof![
        5 => prop::sample::select(vec!["a", "b", "c"]).prop_map(vote),
        1 => Just(Ballot::Spoilt),
        2 => Just(Ballot::Failed),
    ]
}

fn any_rules() -> impl Strategy<Value = Rules> {
    let agreement = prop_oneof![Just(Agreement::StrictMajority), (1..9_u64).prop_map(Agreement::AtLeast)];
    let basis = prop_oneof![Just(Basis::Successful), Just(Basis::Participants)];
    (1..5_usize, agreement, basis).prop_map(|(minimum, agreement, basis)| {
        Rules::new().with_minimum_successful_agents(minimum).with_agreement(agreement).with_basis(basis)
    })
}

/// Up to nine participants with small weights, most of them 1, a ballot for each, and an order to cast them in.
fn any_round() -> impl Strategy<Value = (Vec<u32>, Vec<Ballot>, Vec<usize>)> {
    let weight = prop_oneof![4 => Just(1_u32), 1 => 0..4_u32];
    prop::collection::vec((weight, any_ballot()), 1..10).prop_flat_map(|round| {
        let (weights, ballots): (Vec<_>, Vec<_>) = round.into_iter().unzip();
        let order: Vec<_> = (0..weights.len()).collect();
        (Just(weights), Just(ballots), Just(order).prop_shuffle())
    })
}

fn cast(ballots: &[Ballot], order: &[usize]) -> Vec<Cast> {
    order.iter().map(|&voter| (voter, ballots[voter].clone())).collect()
}

/// Every way in which the ballots still to come may be cast.
fn completions(pending: usize) -> Vec<Vec<Ballot>> {
    let kinds = [vote("a"), vote("b"), vote("c"), vote("d"), Ballot::Spoilt, Ballot::Failed];
    (0..pending).fold(vec![Vec::new()], |all, _| {
        let with = |one: &Vec<Ballot>| {
            kinds.iter().map(|kind| one.iter().cloned().chain([kind.clone()]).collect()).collect::<Vec<_>>()
        };
        all.iter().flat_map(with).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn at_its_end_it_says_what_a_plain_count_says((weights, ballots, order) in any_round(), rules in any_rules()) {
        let tally = count(rules, &weights, &cast(&ballots, &order));
        prop_assert_ne!(tally.decision(), Decision::Pending);
        prop_assert_eq!(reached(&tally), winner(rules, &weights, &ballots));
    }

    #[test]
    fn what_it_decides_never_changes((weights, ballots, order) in any_round(), rules in any_rules()) {
        let casts = cast(&ballots, &order);
        let mut before = (Decision::Pending, None);
        for so_far in 0..=casts.len() {
            let tally = count(rules, &weights, &casts[..so_far]);
            let now = (tally.decision(), reached(&tally));
            prop_assert!(before.0 == Decision::Pending || before == now, "{:?} became {:?}", before, now);
            before = now;
        }
    }

    #[test]
    fn the_order_of_the_ballots_plays_no_part((weights, ballots, order) in any_round(), rules in any_rules()) {
        let in_order: Vec<_> = (0..weights.len()).collect();
        let one = count(rules, &weights, &cast(&ballots, &in_order));
        let other = count(rules, &weights, &cast(&ballots, &order));
        prop_assert_eq!(reached(&one), reached(&other));
        prop_assert_eq!(one.votes(), other.votes());
        prop_assert_eq!((one.required(), one.spoilt()), (other.required(), other.spoilt()));
    }

    #[test]
    fn one_member_is_one_vote_however_often_it_answers(
        (weights, ballots, order) in any_round(), rules in any_rules(), again in any_ballot(), which in any::<prop::sample::Index>(),
    ) {
        let casts = cast(&ballots, &order);
        let once = count(rules, &weights, &casts);
        let voter = order[which.index(order.len())];
        let mut twice = casts.clone();
        twice.push((voter, again));
        let twice = count(rules, &weights, &twice);
        prop_assert_eq!(once.votes(), twice.votes());
        prop_assert_eq!(once.decision(), twice.decision());
    }

    #[test]
    fn one_more_that_agrees_never_breaks_it((weights, ballots, order) in any_round(), rules in any_rules(), weight in 0..4_u32) {
        let casts = cast(&ballots, &order);
        if let Some(answer) = reached(&count(rules, &weights, &casts)) {
            let (mut weights, mut casts) = (weights, casts);
            casts.push((weights.len(), Ballot::Vote(answer.clone())));
            // All participants are the basis of a majority, and a voter without weight is none.
            weights.push(weight);
            prop_assert_eq!(reached(&count(rules, &weights, &casts)), Some(answer));
        }
    }

    #[test]
    fn it_is_pending_exactly_where_the_ballots_to_come_decide(
        (weights, ballots, order) in any_round(), rules in any_rules(), pending in 0..4_usize,
    ) {
        let cut = order.len().saturating_sub(pending);
        let so_far = cast(&ballots, &order[..cut]);
        let decision = count(rules, &weights, &so_far).decision();
        let mut ends = std::collections::HashSet::new();
        for completion in completions(order.len() - cut) {
            let mut all = ballots.clone();
            for (&voter, ballot) in order[cut..].iter().zip(completion) {
                all[voter] = ballot;
            }
            ends.insert(winner(rules, &weights, &all));
        }
        let expected = match (ends.len(), ends.contains(&None)) {
            (1, true) => Decision::Impossible,
            (1, false) => Decision::Reached,
            _ => Decision::Pending,
        };
        prop_assert_eq!(decision, expected, "{:?}", ends);
    }
}

#[test]
fn border_values() {
    use Decision::{Impossible, Pending, Reached};

    let strict = Rules::new();
    let all = strict.with_basis(Basis::Participants);
    let least = |count| strict.with_agreement(Agreement::AtLeast(count));
    let minimum = |count| strict.with_minimum_successful_agents(count);
    let (a, b, c, failed, spoilt) = (vote("a"), vote("b"), vote("c"), Ballot::Failed, Ballot::Spoilt);
    let cases = [
        // Half is no majority, one more is.
        (strict, 4, vec![&a, &a, &b, &b], Impossible),
        (strict, 5, vec![&a, &a, &a, &b, &b], Reached),
        (strict, 4, vec![&a, &a, &b], Pending),
        (strict, 4, vec![&a, &a, &a], Reached),
        // A spoilt ballot is a success, a failure is none.
        (strict, 4, vec![&a, &a, &spoilt, &spoilt], Impossible),
        (strict, 4, vec![&a, &a, &spoilt, &failed], Reached),
        (all, 4, vec![&a, &a, &spoilt, &failed], Impossible),
        (all, 5, vec![&a, &failed, &failed, &failed, &failed], Impossible),
        (strict, 5, vec![&a, &failed, &failed, &failed, &failed], Reached),
        // Impossible as soon as it is.
        (all, 5, vec![&failed, &failed], Pending),
        (all, 5, vec![&failed, &failed, &failed], Impossible),
        // At least: never level, and nobody can draw level any more.
        (least(1), 3, vec![&a, &b, &c], Impossible),
        (least(2), 5, vec![&a, &a], Pending),
        (least(2), 5, vec![&a, &a, &a], Reached),
        (least(2), 3, vec![&a, &a], Reached),
        (least(2), 4, vec![&a, &a], Pending),
        (least(2), 4, vec![&a, &a, &b], Pending),
        (least(2), 4, vec![&a, &a, &b, &b], Impossible),
        (least(3), 4, vec![&a, &b], Pending),
        (least(3), 4, vec![&a, &b, &failed], Impossible),
        // The minimum of successes.
        (minimum(3), 4, vec![&a, &a, &failed], Pending),
        (minimum(3), 4, vec![&a, &a, &failed, &failed], Impossible),
        (minimum(3), 4, vec![&a, &failed, &failed], Impossible),
        (minimum(3), 3, vec![&a, &a, &b], Reached),
        (minimum(1), 1, vec![&failed], Impossible),
        (minimum(1), 1, vec![&spoilt], Impossible),
        (minimum(1), 1, vec![], Pending),
    ];
    for (place, (rules, participants, ballots, expected)) in cases.into_iter().enumerate() {
        let all_cast: Vec<_> = ballots.into_iter().cloned().enumerate().collect();
        let tally = count(rules, &vec![1; participants], &all_cast);
        assert_eq!(tally.decision(), expected, "case {place}: {rules:?} {all_cast:?}");
    }
}

#[test]
fn who_is_no_participant_has_no_vote() {
    let mut tally = count(Rules::new(), &[1, 1], &[]);
    let stranger = AgentId::new("stranger").unwrap();
    assert_eq!(tally.record(&stranger, vote("a")), Decision::Pending);
    assert!(tally.votes().is_empty());
}

#[test]
fn nobody_at_all_is_no_majority() {
    assert_eq!(count(Rules::new(), &[], &[]).decision(), Decision::Impossible);
    assert_eq!(count(Rules::new(), &[0, 0], &[(0, vote("a"))]).decision(), Decision::Impossible);
}
