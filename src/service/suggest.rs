//! "Did you mean": the known name nearest to a mistyped one.

/// The help text for an unknown name.
pub(super) fn among(name: &str, known: &[String]) -> String {
    let list = known.join(", ");
    let nearest = known
        .iter()
        .map(|candidate| (distance(&name.to_lowercase(), &candidate.to_lowercase()), candidate))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, candidate)| *distance <= 1 + candidate.chars().count() / 3);
    match nearest {
        Some((_, candidate)) => format!("did you mean `{candidate}`? known: {list}"),
        None if known.is_empty() => "none is known here".to_owned(),
        None => format!("known: {list}"),
    }
}

/// Edits (insert, delete, replace, swap of neighbours) from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().take(64).collect();
    let to: Vec<char> = to.chars().take(64).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (row, left) in from.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, right) in to.iter().enumerate() {
            let mut best = (last[column] + usize::from(left != right))
                .min(last[column + 1] + 1)
                .min(current[column] + 1);
            let swapped = row > 0 && column > 0 && from[row - 1] == *right && to[column - 1] == *left;
            if swapped {
                best = best.min(before[column - 1] + 1);
            }
            current.push(best);
        }
        before = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered_and_a_far_one_is_not() {
        let known = ["planning", "implementing", "testing"].map(str::to_owned);
        assert!(among("plannign", &known).starts_with("did you mean `planning`?"));
        assert!(among("TEST", &known).starts_with("did you mean `testing`?"));
        assert!(among("zzz", &known).starts_with("known: planning"));
    }
}
