//! Votes as crowds give them: a long table with one line per vote, of a task, a worker and a label.

use std::collections::HashMap;
use std::path::Path;

use labelflow_weak::rows::Truth;
use labelflow_weak::votes::{ABSTAIN, WeakSignals};
use ndarray::Array2;

use super::labels_file::{labels_in_column, read_labels};
use super::vote_cells::{CellValues, DistinctCells, named_votes, read_cells};
use crate::inputs::{AbstainConvention, Keyed, RowKeys, RowNames, SignalsKind, SignalsOptions};
use crate::tables::cells::{NameCodes, parse_number};
use crate::tables::csv_file::shown;
use crate::tables::table::TableFile;
use crate::{Error, Result, ensure};

/// The column that names tasks.
pub(crate) const TASK: &str = "task";

/// What a column holds, and how it may be called: the names of a list go before those of later lists.
struct Role {
    what: &'static str,
    names: &'static [&'static [&'static str]],
}

const TASKS: Role = Role { what: "task", names: &[&[TASK], &["question", "item"], &["row", "id"]] };
const WORKERS: Role = Role { what: "worker", names: &[&["worker"], &["annotator", "user"]] };
const ANSWERS: Role = Role { what: "answer", names: &[&["label"], &["answer", "vote", "class"]] };
const TRUTHS: Role = Role {
    what: "true label",
    names: &[&["label"], &["truth", "true_label", "gold", "ground_truth"], &["answer", "class"]],
};

/// How to read a long table of votes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskVotesOptions {
    /// The names of the columns. Default: as they are usually called.
    pub columns: TaskVotesColumns,
    /// The names of the classes, in order. Default: empty, for classes that are not known beforehand.
    pub classes: Vec<String>,
    /// How an abstention is written, and with it how classes are counted. Default: −1 or a missing cell, from 0.
    pub abstain: AbstainConvention,
    /// What to do when a worker labels a task twice. Default: an error.
    pub duplicates: DuplicateVotes,
    /// The most cells, tasks times workers, that the table of votes may have; each is a byte. Default: 2³⁰.
    pub max_cells: usize,
}

impl Default for TaskVotesOptions {
    fn default() -> Self {
        Self {
            columns: TaskVotesColumns::default(),
            classes: Vec::new(),
            abstain: AbstainConvention::default(),
            duplicates: DuplicateVotes::default(),
            max_cells: 1 << 30,
        }
    }
}

/// The names of the columns of a long table of votes. Where one is missing, the column is that with a usual name, in any case and with or
/// without `id` at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskVotesColumns {
    /// Tasks: else `task`, or `question` or `item`, or `row` or `id`.
    pub task: Option<String>,
    /// Workers: else `worker`, or `annotator` or `user`.
    pub worker: Option<String>,
    /// Answers: else `label`, or `answer`, `vote` or `class`.
    pub answer: Option<String>,
}

/// What to do when a worker labels a task twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateVotes {
    /// Refuse the file, naming both lines.
    #[default]
    Refuse,
    /// The first label counts.
    First,
    /// The last label counts.
    Last,
}

/// Reads a long table of votes: csv, tsv or parquet with columns of tasks, workers and answers, see [`TaskVotesColumns`]. A header that leaves
/// a doubt is an error. The tasks, in order of first appearance, are the keys of the rows, and the workers the labelers.
///
/// A label is a class index or a class name, as in [`read_signals`](crate::inputs::read_signals). A worker abstains on a task
/// that it has no line for, or whose label is missing.
///
/// ```
/// use labelflow_data::inputs::{TaskVotesOptions, read_task_votes};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("answers.csv");
/// std::fs::write(&path, "question,worker,answer\nq7,ann,dog\nq7,bob,cat\nq2,bob,cat\n")?;
/// let votes = read_task_votes(&path, &TaskVotesOptions::default())?;
/// assert_eq!(votes.keys.names().get(1), "q2");
/// assert_eq!(votes.value.labelers(), ["ann", "bob"]);
/// assert_eq!(votes.value.classes(), ["cat", "dog"]);
/// assert_eq!(votes.value.vote(1, 0), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_task_votes(path: &Path, options: &TaskVotesOptions) -> Result<Keyed<WeakSignals>> {
    let table = TableFile::open_named(path)?;
    let TaskVotesColumns { task, worker, answer } = &options.columns;
    let [task, worker, label] = columns(&table, [(TASKS, task), (WORKERS, worker), (ANSWERS, answer)])?;
    let (task_codes, tasks) = required_names(&table, task)?;
    let (worker_codes, workers) = required_names(&table, worker)?;
    let (label_codes, labels) = table.named_cells(label, usize::from(ABSTAIN) + 1)?;
    let (classes, abstain) = (options.classes.clone(), options.abstain);
    let read_options = SignalsOptions { kind: SignalsKind::Votes, classes, abstain, ..Default::default() };
    let at = |label_code: usize, error: Error| {
        let row = label_codes.iter().position(|&code| code as usize == label_code);
        error.at(row.map(|row| table.place(row)).unwrap_or_default()).in_column(&table.names[label])
    };
    let number = |label: &String| parse_number(label).map(|number| number as f32);
    let cells = labels.iter().map(|label| (label.clone(), number(label))).collect();
    let values = read_cells(&DistinctCells { path, cells, at }, &read_options)?;
    let CellValues::Votes(votes, classes) = values else { unreachable!("the kind of the cells is votes") };
    let mut bytes = empty_votes(path, tasks.len(), workers.len(), options.max_cells)?;
    // A vote twice is a slip even where the first one is an abstention.
    let mut first_rows = HashMap::with_capacity(label_codes.len());
    for (row, (&task, &worker)) in task_codes.iter().zip(&worker_codes).enumerate() {
        let vote = match label_codes[row] {
            NameCodes::ABSENT => ABSTAIN,
            code => votes[[code as usize, 0]],
        };
        let first = *first_rows.entry((task, worker)).or_insert(row);
        match (first != row, options.duplicates) {
            (false, _) | (true, DuplicateVotes::Last) => {
                bytes[[task, worker]] = vote;
            }
            (true, DuplicateVotes::First) => {}
            (true, DuplicateVotes::Refuse) => {
                let found = format!(
                    "a second one of worker '{}' on task '{}', the first being in{}",
                    shown(&workers[worker]),
                    shown(&tasks[task]),
                    table.place(first).to_string().trim_start_matches(','),
                );
                return Err(Error::content(path, "one vote of a worker on a task", found)
                    .at(table.place(row))
                    .with_hint("choose to keep the first or the last, as --duplicates does"));
            }
        }
    }
    let signals = named_votes(bytes, &classes, Some(&workers)).map_err(Error::in_file(path))?;
    Ok(Keyed { value: signals, keys: RowKeys::new(path, TASK, RowNames::Texts(tasks)) })
}

/// Reads the true labels of rows, in their order: of tasks as [`read_task_votes`] names them, or as [`read_labels`] reads them.
///
/// Those of tasks are in csv, tsv or parquet with a column of tasks, called as in [`TaskVotesColumns`], and a column `label`, `truth`,
/// `true_label`, `gold`, `ground_truth`, `answer` or `class`, or with two columns in this order. Other tasks are ignored; a task without a label, or with two
/// different ones, is an error.
///
/// `classes` are the names of the classes; a label may also be an index.
pub fn read_truth_of(path: &Path, rows: &RowKeys, classes: &[String]) -> Result<Truth> {
    match rows.names() {
        RowNames::Texts(tasks) if rows.column() == TASK => read_task_truth(path, tasks, classes),
        _ => read_labels(path, classes, &rows.key_column())?.in_order_of(rows),
    }
}

fn read_task_truth(path: &Path, tasks: &[String], classes: &[String]) -> Result<Truth> {
    let table = TableFile::open_named(path)?;
    let [task, label] = truth_columns(&table)?;
    let (task_codes, names) = required_names(&table, task)?;
    let labels = labels_in_column(&table, label, classes)?;
    let mut known = HashMap::<&str, usize>::new();
    for (row, (&task, &class)) in task_codes.iter().zip(labels.labels()).enumerate() {
        let task = names[task].as_str();
        if known.insert(task, class).is_some_and(|earlier| earlier != class) {
            let found = format!("two for task '{}'", shown(task));
            return Err(Error::content(path, "one true label per task", found).at(table.place(row)));
        }
    }
    let truth = tasks.iter().map(|task| {
        let refuse = || Error::content(path, "a label for every task", format!("none for '{}'", shown(task)));
        known.get(task.as_str()).copied().ok_or_else(refuse)
    });
    Truth::new(truth.collect::<Result<_>>()?, classes.len()).map_err(Error::in_file(path))
}

/// The columns with these roles, each of which may be named.
fn columns<const N: usize>(table: &TableFile, wanted: [(Role, &Option<String>); N]) -> Result<[usize; N]> {
    let mut columns = [None; N];
    for (column, (_, name)) in columns.iter_mut().zip(&wanted) {
        *column = name.as_ref().map(|name| table.required_column(name)).transpose()?;
    }
    let named: Vec<usize> = columns.iter().flatten().copied().collect();
    for (column, (role, _)) in columns.iter_mut().zip(&wanted) {
        if column.is_none() {
            *column = Some(role.find(table, &named)?);
        }
    }
    let columns = columns.map(|column| column.expect("named or found"));
    let twice = (1..N).find(|&place| columns[..place].contains(&columns[place]));
    match twice {
        None => Ok(columns),
        Some(place) => {
            let found = format!("'{}' twice", shown(&table.names[columns[place]]));
            Err(table.error("different columns of tasks, workers and answers", found))
        }
    }
}

/// The columns of tasks and true labels: by their names, or the only two if none of them is out of its place.
fn truth_columns(table: &TableFile) -> Result<[usize; 2]> {
    let found = [TASKS, TRUTHS].map(|role| role.find(table, &[]));
    if let [Ok(task), Ok(label)] = found
        && task != label
    {
        return Ok([task, label]);
    }
    let in_place =
        found.iter().enumerate().all(|(place, found)| found.as_ref().map_or(true, |&column| column == place));
    if table.names.len() == 2 && in_place {
        return Ok([0, 1]);
    }
    Err(table.other_columns("the columns task and label, or two columns in this order"))
}

impl Role {
    /// The only column that is called so, beside those that are something else.
    fn find(&self, table: &TableFile, taken: &[usize]) -> Result<usize> {
        let is_called = |name: &str, names: &[&str]| {
            let name = name.trim().to_lowercase();
            let stem = name.strip_suffix("id").map(|stem| stem.trim_end_matches(['_', '-', ' ']));
            names.contains(&&*name) || stem.is_some_and(|stem| names.contains(&stem))
        };
        for names in self.names {
            let mut columns = (0..table.names.len())
                .filter(|column| !taken.contains(column) && is_called(&table.names[*column], names));
            match (columns.next(), columns.next()) {
                (None, _) => {}
                (Some(column), None) => return Ok(column),
                (Some(first), Some(second)) => {
                    let [first, second] = [first, second].map(|column| shown(&table.names[column]));
                    let found = format!("'{first}' and '{second}'");
                    return Err(table
                        .error(format!("one column that may be the {}", self.what), found)
                        .with_hint(HINT));
                }
            }
        }
        let names = self.names.concat().join(", ");
        Err(table.other_columns(format!("a column of the {} ({names})", self.what)).with_hint(HINT))
    }
}

/// What to do about a header that is not understood.
const HINT: &str = "name the columns: --task-column, --worker-column, --answer-column";

/// A column as codes, none of which may be missing, and the names behind them in order of appearance.
fn required_names(table: &TableFile, column: usize) -> Result<(Vec<usize>, Vec<String>)> {
    let mut names = NameCodes::open(NameCodes::ABSENT as usize);
    let codes = table.checked_codes(column, "a name or a number", &mut names)?;
    Ok((codes, names.into_names()))
}

/// A table in which everyone abstains, unless it is too large.
fn empty_votes(path: &Path, n_tasks: usize, n_workers: usize, max_cells: usize) -> Result<Array2<u8>> {
    let is_modest = n_tasks.checked_mul(n_workers).is_some_and(|n_cells| n_cells <= max_cells);
    let expected = || format!("at most {max_cells} cells, tasks times workers");
    let refuse = || Error::content(path, expected(), format!("{n_tasks} tasks and {n_workers} workers"));
    ensure(is_modest, || refuse().with_hint("allow more cells, or drop workers with few votes"))?;
    Ok(Array2::from_elem((n_tasks, n_workers), ABSTAIN))
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;
    use crate::tables::{Column, ColumnValues, write_columns};

    const A: u8 = ABSTAIN;

    fn read_with(text: &str, options: &TaskVotesOptions) -> Result<Keyed<WeakSignals>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("votes.csv");
        std::fs::write(&path, text).unwrap();
        read_task_votes(&path, options)
    }

    fn read(text: &str) -> Result<Keyed<WeakSignals>> {
        read_with(text, &TaskVotesOptions::default())
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn keep(duplicates: DuplicateVotes) -> TaskVotesOptions {
        TaskVotesOptions { duplicates, ..TaskVotesOptions::default() }
    }

    #[test]
    fn a_line_is_a_vote() {
        let expected = array![[0, 2, A], [1, A, 0]];
        for text in [
            "question,worker,answer\nt,b,0\nt,a,2\ns,b,1\ns,c,0\n",
            "worker,label,note,task\nb,0,x,t\na,2,x,t\nb,1,x,s\nc,0,x,s\n",
            "task,worker,label\nt,b,0\nt,a,2\ns,b,1\ns,c,0\ns,a,-1\n",
            "task,worker,label\nt,b,0\nt,a,2\ns,b,1\ns,c,0\ns,a,\n",
        ] {
            let votes = read(text).unwrap();
            assert_eq!(*votes.keys.names(), RowNames::Texts(names(&["t", "s"])));
            assert_eq!(votes.value.labelers(), ["b", "a", "c"]);
            assert_eq!(votes.value.to_votes().bytes(), expected, "{text}");
        }
    }

    #[test]
    fn columns_are_found_by_usual_names_or_by_those_that_are_given() {
        let expected = array![[0, A], [1, 0]];
        for header in [
            "Question,Annotator,Vote",
            "item,USER,class",
            "TaskId,worker_id,answer",
            "id,user id,label",
            // The usual names go before others.
            "task,worker,label",
        ] {
            let votes = read(&format!("{header}\nt,b,0\ns,b,1\ns,c,0\n")).unwrap();
            assert_eq!(votes.value.to_votes().bytes(), expected, "{header}");
        }
        let votes = read("id,class,worker,question,label\n1,x,b,t,0\n2,y,b,s,1\n3,x,c,s,0\n").unwrap();
        assert_eq!(votes.value.to_votes().bytes(), expected);
        let with = |task: Option<&str>, worker: Option<&str>, answer: Option<&str>| {
            let [task, worker, answer] = [task, worker, answer].map(|name| name.map(str::to_owned));
            let columns = TaskVotesColumns { task, worker, answer };
            read_with(
                "stars,item,who,question\n0,t,b,x\n1,s,b,x\n0,s,c,x\n",
                &TaskVotesOptions { columns, ..Default::default() },
            )
        };
        let votes = with(Some("item"), Some("who"), Some("stars")).unwrap();
        assert_eq!(votes.value.to_votes().bytes(), expected);
        let error = |task, worker, answer| with(task, worker, answer).unwrap_err().to_string();
        assert!(error(None, Some("who"), Some("stars")).contains("found 'item' and 'question'"));
        assert!(error(Some("item"), Some("nobody"), None).contains("a column 'nobody', found the columns stars, item"));
        assert!(error(Some("item"), Some("item"), Some("stars")).contains("different columns of tasks, workers"));
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn parquet_is_read_as_csv_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("votes.parquet");
        let column = |name: &str, values| Column { name: name.to_owned(), values };
        write_columns(
            &path,
            &[
                column("task", ColumnValues::Integers(vec![7, 7, 3])),
                column("worker", ColumnValues::Names(names(&["b", "a", "b"]))),
                column("label", ColumnValues::Integers(vec![1, 0, 1])),
            ],
        )
        .unwrap();
        let votes = read_task_votes(&path, &TaskVotesOptions::default()).unwrap();
        assert_eq!(*votes.keys.names(), RowNames::Texts(names(&["7", "3"])));
        assert_eq!(votes.value.to_votes().bytes(), array![[1, 0], [1, A]]);
    }

    #[test]
    fn conventions_and_names_hold_here_too() {
        let with = |classes: &[&str], abstain| TaskVotesOptions {
            classes: names(classes),
            abstain,
            ..TaskVotesOptions::default()
        };
        let zero = with(&[], AbstainConvention::Zero);
        let votes = read_with("task,worker,label\na,x,1\na,y,0\nb,x,2\n", &zero).unwrap();
        assert_eq!(votes.value.to_votes().bytes(), array![[0, A], [1, A]]);
        let named = with(&["yes", "no"], AbstainConvention::MinusOne);
        for text in ["task,worker,label\na,x,yes\na,y,-1\nb,x,no\n", "task,worker,label\na,x,0\na,y,-1\nb,x,1\n"] {
            let votes = read_with(text, &named).unwrap();
            assert_eq!(votes.value.to_votes().bytes(), array![[0, A], [1, A]]);
            assert_eq!(votes.value.classes(), ["yes", "no"]);
        }
        let detect = with(&[], AbstainConvention::Detect);
        let votes = read_with("task,worker,label\na,x,1\na,y,2\nb,x,3\n", &detect).unwrap().value;
        assert_eq!(votes.to_votes().bytes(), array![[0, 1], [2, A]]);
        assert_eq!(votes.classes(), ["1", "2", "3"]);
    }

    #[test]
    fn a_second_vote_is_refused_or_chosen() {
        let text = "task,worker,label\na,x,1\nb,x,0\n\na,x,0\nb,y,1\n";
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains("line 5"), "{error}");
        assert!(error.contains("worker 'x' on task 'a', the first being in line 2"), "{error}");
        let first = read_with(text, &keep(DuplicateVotes::First)).unwrap();
        assert_eq!(first.value.to_votes().bytes(), array![[1, A], [0, 1]]);
        let last = read_with(text, &keep(DuplicateVotes::Last)).unwrap();
        assert_eq!(last.value.to_votes().bytes(), array![[0, A], [0, 1]]);
        assert!(read("task,worker,label\na,x,\na,x,0\nb,y,1\n").is_err(), "an abstention counts");
    }

    #[test]
    fn bad_tables_are_named() {
        for (text, expected) in [
            ("a,b\n1,2\n", "expected a column of the task (task, question, item, row, id), found the columns a, b"),
            ("t,w,l\na,x,1\nb,y,0\n", "found the columns t, w, l (name the columns: --task-column, --worker-column"),
            ("item,worker,stars\na,x,1\nb,y,0\n", "a column of the answer (label, answer, vote, class)"),
            ("item,question,worker,label\na,a,x,1\n", "one column that may be the task, found 'item' and 'question'"),
            ("task,user,annotator,label\na,x,x,1\n", "one column that may be the worker, found 'user' and 'annotator'"),
            ("task,worker,label\na,x,1\n,y,0\n", "line 3, column 'task': expected a name or a number"),
            ("task,worker,label\na,x,1\nb,,0\n", "line 3, column 'worker'"),
            ("task,worker,label\na,x,1\nb,x\n", "line 3: expected 3 fields"),
            ("task,worker,label\na,x,1\nb,x,0.5\n", "line 3, column 'label': expected a class"),
            ("task,worker,label\na,x,1\nb,x,999\n", "found 999"),
            ("task,worker,label\na,x,yes\nb,x,3\n", "line 2, column 'label': expected a number, found 'yes'"),
            ("task,worker,label\na,x,yes\nb,x,yes\n", "at least two classes"),
            ("task,worker,label\na,x,\nb,x,-1\n", "only abstentions"),
            ("task,worker,label\n", "at least"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        let few = TaskVotesOptions { max_cells: 3, ..TaskVotesOptions::default() };
        let error = read_with("task,worker,label\na,x,1\nb,y,0\n", &few).unwrap_err().to_string();
        assert!(error.contains("at most 3 cells"), "{error}");
        let named = TaskVotesOptions { classes: names(&["p", "q"]), ..few };
        let error = read_with("task,worker,label\na,x,p\na,x,r\n", &named).unwrap_err().to_string();
        assert!(error.contains("line 3, column 'label': expected one of p, q, -1, ABSTAIN, found 'r'"), "{error}");
    }

    #[test]
    fn truth_is_matched_by_task() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("truth.csv");
        let truth = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_task_truth(&path, &names(&["b", "a"]), &names(&["no", "yes"]))
        };
        for text in ["q,truth\na,0\nb,1\nc,1\n", "label,x,task\nno,0,a\nyes,0,b\n", "Gold,item\nno,a\nyes,b\n"] {
            assert_eq!(truth(text).unwrap().labels(), [1, 0]);
        }
        for (text, expected) in [
            ("q,truth\na,0\n", "none for 'b'"),
            (
                "label,q\n0,a\n1,b\n",
                "the columns task and label, or two columns in this order, found the columns label, q",
            ),
            ("q,truth\na,0\nb,1\na,1\n", "line 4: expected one true label per task"),
            ("q,truth\na,0\nb,2\n", "line 3, column 'truth': expected a class from 0 to 1, found 2"),
            ("q,truth\na,0\nb,\n", "line 3, column 'truth'"),
        ] {
            let error = truth(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[cfg(feature = "parquet")]
        #[test]
        fn any_table_is_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            text in "task,worker,label\n([ab],[xy],[0-2n-]{0,2}\n){0,6}",
        ) {
            let folder = tempfile::tempdir().unwrap();
            for extension in ["csv", "parquet", "npy"] {
                let path = folder.path().join("votes").with_extension(extension);
                std::fs::write(&path, &bytes).unwrap();
                let _ = read_task_votes(&path, &TaskVotesOptions::default());
                let _ = read_task_truth(&path, &names(&["a"]), &names(&["0", "1"]));
            }
            for duplicates in
                [DuplicateVotes::Refuse, DuplicateVotes::First, DuplicateVotes::Last]
            {
                let _ = read_with(&text, &keep(duplicates));
            }
        }
    }

    mod real_data {
        use super::*;

        #[test]
        fn real_crowds_are_whole() {
            let dir = crate::real_data_dir();
            for (name, shape, n_votes, counts) in [
                ("crowd-bluebird-duck", (108, 39), 4212, vec![60, 48]),
                ("crowd-dog", (807, 109), 8070, vec![172, 185, 218, 232]),
            ] {
                let folder = dir.join("votes").join(name);
                let votes = read_task_votes(&folder.join("answer.csv"), &TaskVotesOptions::default()).unwrap();
                assert_eq!(votes.value.to_votes().bytes().dim(), shape, "{name}");
                let bytes = votes.value.to_votes();
                assert_eq!(bytes.as_slice().iter().filter(|&&vote| vote != A).count(), n_votes);
                let classes = votes.value.classes();
                let truth = read_truth_of(&folder.join("truth.csv"), &votes.keys, classes).unwrap();
                let mut found = vec![0; classes.len()];
                truth.labels().iter().for_each(|&label| found[label] += 1);
                assert_eq!(found, counts, "{name}");
            }
        }
    }
}
