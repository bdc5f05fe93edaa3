//! Labels from votes alone, and what is said of labelers.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Problem, Sandbox};

const LABEL: &str = "label --signals signals.csv --out out.csv";

/// Labels and probabilities of class 1.
fn labels(csv: &str) -> Vec<(String, f64)> {
    let rows = csv.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[1].to_owned(), cells[3].parse().unwrap())
    });
    rows.collect()
}

/// The votes of the small problem as a long table, by names of tasks and workers.
fn task_votes(problem: &Problem) -> String {
    let mut text = "task,worker,label\n".to_owned();
    for (row, line) in problem.signals(&["cat", "dog"]).lines().skip(1).enumerate() {
        for (worker, vote) in ["ann", "bob", "eve"].iter().zip(line.split(',')) {
            text += &format!("q{row},{worker},{vote}\n");
        }
    }
    text
}

fn wrench(votes: &str, label: &str) -> String {
    let rows = votes.lines().skip(1).zip(label.lines().skip(1)).enumerate();
    let rows = rows.map(|(row, (votes, label))| {
        format!("\"{row}\": {{\"label\": {label}, \"weak_labels\": [{votes}], \"data\": {{}}}}")
    });
    format!("{{{}}}", rows.collect::<Vec<_>>().join(", "))
}

#[test]
fn the_label_model_that_the_votes_ask_for_unless_another_is_named() {
    let sandbox = Sandbox::with_problem();
    let ran = sandbox.labelflow(LABEL).succeeded();
    assert!(ran.stdout.contains("auto: 60 rows, 0 of them without a vote"), "{ran:?}");
    let by_default = sandbox.read("out.csv");
    // It says what it chose and why.
    let remark = ran.stdout.lines().find(|line| line.contains(" was chosen: ")).expect("a remark");
    sandbox.labelflow(&format!("{LABEL} --model auto --json report.json")).succeeded();
    assert_eq!(sandbox.read("out.csv"), by_default);
    assert_eq!(format!("auto: {}", sandbox.json("report.json")["remark"].as_str().unwrap()), remark);
}

#[test]
fn rows_that_nobody_voted_on_have_no_label_unless_one_is_chosen() {
    let sandbox = Sandbox::with_problem();
    let votes = "a,b,c\nham,ham,ham\nspam,spam,\n,,\nham,ham,spam\nham,,ham\n";
    sandbox.write("signals.csv", votes);
    let label_of_silent_row = |flags: &str| {
        sandbox.labelflow(&format!("{LABEL} {flags}")).succeeded();
        let text = sandbox.read("out.csv");
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("row,label,p_ham,p_spam,n_votes"));
        let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.iter().map(|row| row[4]).collect::<Vec<_>>(), ["3", "2", "0", "3", "2"]);
        assert!(rows.iter().enumerate().all(|(row, cells)| row == 2 || !cells[1].is_empty()), "{text}");
        rows[2][1].to_owned()
    };
    for model in ["auto", "hyper", "majority-vote"] {
        assert_eq!(label_of_silent_row(&format!("--model {model}")), "");
        assert_eq!(label_of_silent_row(&format!("--model {model} --unvoted majority")), "ham");
        assert_eq!(label_of_silent_row(&format!("--model {model} --unvoted spam")), "spam");
    }
    assert_eq!(label_of_silent_row("--unvoted balance"), "ham");
    let expected = "unvoted: expected empty, balance, majority or one of ham, spam, found 'eggs'";
    sandbox.refuses(&format!("{LABEL} --unvoted eggs"), &[expected]);
}

#[test]
fn a_majority_vote_by_name() {
    let sandbox = Sandbox::with_problem();
    let label = format!("{LABEL} --model majority-vote");
    let ran = sandbox.labelflow(&label).succeeded();
    assert!(ran.stdout.contains("majority-vote: 60 rows, 0 of them without a vote"), "{ran:?}");
    assert_eq!(ran.stderr, "60 rows labelled in out.csv\n");
    let majority = labels(&sandbox.read("out.csv"));
    for (line, (label, p)) in sandbox.read("signals.csv").lines().skip(1).zip(&majority) {
        let n_ones = line.split(',').filter(|vote| *vote == "1").count();
        assert!((p - n_ones as f64 / 3.0).abs() < 1e-9, "{line}: {p}");
        assert_eq!(label, if n_ones > 1 { "1" } else { "0" });
    }
    sandbox.labelflow(&format!("{LABEL} --model dawid-skene")).succeeded();
    assert_ne!(labels(&sandbox.read("out.csv")), majority);
}

#[test]
fn every_label_model_by_name() {
    let sandbox = Sandbox::with_problem();
    let help = sandbox.labelflow("label --help").succeeded().stdout;
    for name in labelflow::label_models::AnyLabelModel::NAMES {
        assert!(help.contains(name), "{name}: {help}");
        let label = format!("{LABEL} --model {name} --bounds 0.2 --errors 0.2 --json report.json");
        let ran = sandbox.labelflow(&format!("{label} --labels-for-eval labels.csv")).succeeded();
        assert!(ran.stdout.contains("learned accuracy %"), "{}", ran.stdout);
        let report = sandbox.json("report.json");
        assert_eq!(report["model"], *name);
        assert!(report["metrics"]["accuracy"].as_f64().unwrap() > 0.7, "{report}");
        let labeler = &report["labelers"][0];
        let [learned, accuracy] = ["learned_accuracy", "accuracy"]
            .map(|key| labeler[key].as_f64().unwrap_or_else(|| panic!("no {key} in {labeler}")));
        assert!((learned - accuracy).abs() < 0.25, "{name}: {learned}, {accuracy}");
        let balance = report["classes"].as_array().unwrap().iter();
        let sum: f64 = balance.map(|class| class["balance"].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{report}");
    }
}

#[test]
fn a_saved_model_labels_new_rows_alike() {
    let sandbox = Sandbox::with_problem();
    sandbox.labelflow(&format!("{LABEL} --model dawid-skene --save model.json")).succeeded();
    let fitted = labels(&sandbox.read("out.csv"));
    let load = LABEL.replace("label ", "label --load model.json ");
    sandbox.labelflow(&load).succeeded();
    assert_eq!(labels(&sandbox.read("out.csv")), fitted);
    // Columns are found by name, and a row does not depend on the others.
    let moved: String = sandbox
        .read("signals.csv")
        .lines()
        .take(4)
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            format!("{},{},{}\n", cells[2], cells[0], cells[1])
        })
        .collect();
    sandbox.write("signals.csv", moved);
    sandbox.labelflow(&load).succeeded();
    assert_eq!(labels(&sandbox.read("out.csv")), fitted[..3]);
    sandbox.write("signals.csv", "rule_a,rule_b,rule_x\n0,1,1\n");
    sandbox.refuses(&load, &["signals.csv", "the labelers rule_a, rule_b, rule_c, found rule_a, rule_b, rule_x"]);
    sandbox.write("signals.csv", "rule_a,rule_b,rule_c\n0,1,2\n");
    sandbox.refuses(&load, &["signals.csv, line 2", "from 0 to 1", "found 2"]);
}

#[test]
fn a_model_file_that_is_none() {
    let sandbox = Sandbox::with_problem();
    sandbox.labelflow(&format!("{LABEL} --save model.json")).succeeded();
    let text = sandbox.read("model.json");
    let load = LABEL.replace("label ", "label --load model.json ");
    for contents in ["", "{}", "label\n0\n", &text[..text.len() / 2]] {
        sandbox.write("model.json", contents);
        sandbox.refuses(&load, &["model.json", "expected a label model of labelflow"]);
    }
    sandbox.write("model.json", text.replace("\"format\":1", "\"format\":9"));
    sandbox.refuses(&load, &["model.json", "format 1 or earlier", "format 9"]);
    sandbox.refuses(&load.replace("model.json", "nope.json"), &["nope.json", "No such file"]);
    sandbox.refuses(&format!("{load} --model average"), &["--load", "--model"]);
    sandbox.refuses(&format!("{load} --classes a,b"), &["--load", "--classes"]);
}

#[test]
fn tasks_of_a_crowd_keep_their_names() {
    let problem = Problem::new(60);
    let truth: String = problem
        .labels(&["cat", "dog"])
        .lines()
        .enumerate()
        .map(|(row, label)| match row {
            0 => "task,label\n".to_owned(),
            _ => format!("q{},{label}\n", row - 1),
        })
        .collect();
    let sandbox = Sandbox::with_problem().file("votes.csv", task_votes(&problem)).file("truth.csv", truth);
    let label = "label --task-votes votes.csv --labels-for-eval truth.csv --out out.csv";
    let ran = sandbox.labelflow(label).succeeded();
    assert!(ran.stdout.contains("accuracy %") && ran.stdout.contains("| ann"), "{}", ran.stdout);
    let tasks = sandbox.read("out.csv");
    assert!(tasks.starts_with("task,label,p_cat,p_dog,n_votes\nq0,"), "{tasks}");
    // The same as from a table of signals.
    sandbox.labelflow(LABEL).succeeded();
    let probabilities = |csv: &str| labels(csv).into_iter().map(|(_, p)| p).collect::<Vec<_>>();
    assert_eq!(probabilities(&sandbox.read("out.csv")), probabilities(&tasks));
    let npz = label.replace("out.csv", "out.npz");
    sandbox.refuses(&npz, &["out.npz", "csv, tsv or parquet"]);
    sandbox.write("truth.csv", "task,label\nq0,cat\n");
    sandbox.refuses(label, &["truth.csv", "a label for every task", "'q1'"]);
    sandbox.write("votes.csv", "task,worker,label\nq,a,0\nq,a,1\n");
    sandbox.refuses(label, &["votes.csv", "one vote of a worker on a task"]);
}

#[test]
fn columns_of_a_crowd_are_named_or_refused() {
    let problem = Problem::new(60);
    let votes = task_votes(&problem);
    let sandbox = Sandbox::new().file("votes.csv", &votes);
    let label = "label --task-votes votes.csv --out out.csv";
    sandbox.labelflow(label).succeeded();
    let expected = sandbox.read("out.csv");
    for command in ["label", "analyze", "report"] {
        sandbox.write("votes.csv", votes.replace("task,worker,label", "hit,who,stars"));
        let out = match command {
            "label" => " --out out.csv",
            "report" => " --out page.html",
            _ => "",
        };
        let command = format!("{command} --task-votes votes.csv{out}");
        sandbox.refuses(&command, &["hit, who, stars", "--task-column", "--worker-column", "--answer-column"]);
        let named = "--task-column hit --worker-column who --answer-column stars";
        sandbox.labelflow(&format!("{command} {named}")).succeeded();
        sandbox.refuses(&format!("{command} {}", named.replace("who", "nobody")), &["'nobody'", "hit, who, stars"]);
    }
    assert_eq!(sandbox.read("out.csv"), expected);
    // Three columns that were taken in this order: the answers of workers were the workers of answers.
    sandbox.write("votes.csv", votes.replace("task,worker,label", "task,label,worker"));
    sandbox.refuses(
        &label.replace("label --task", "analyze --task").replace(" --out out.csv", " --classes cat,dog"),
        &["'label'"],
    );
    sandbox.refuses("label --signals votes.csv --task-column hit", &["--task-column", "--signals"]);
}

#[test]
fn a_second_vote_of_a_worker_counts_or_not() {
    let votes = "task,worker,label\nq,a,0\nq,b,1\nr,a,1\nr,b,1\nq,b,0\n";
    let sandbox = Sandbox::new().file("votes.csv", votes);
    let label = "label --task-votes votes.csv --out out.csv";
    for flags in ["", "--duplicates refuse"] {
        sandbox.refuses(&format!("{label} {flags}"), &["line 6", "worker 'b' on task 'q'", "--duplicates"]);
    }
    for (rule, expected) in [("first", "0.5"), ("last", "1.0")] {
        sandbox.labelflow(&format!("{label} --model majority-vote --duplicates {rule}")).succeeded();
        let line = sandbox.read("out.csv").lines().nth(1).unwrap().to_owned();
        assert_eq!(line.split(',').nth(2), Some(expected), "{rule}: {line}");
    }
}

#[test]
fn a_saved_model_labels_tasks_of_workers_it_has_never_seen() {
    let problem = Problem::new(60);
    let sandbox = Sandbox::new().file("votes.csv", task_votes(&problem));
    let label = "label --task-votes votes.csv --out out.csv";
    sandbox.labelflow(&format!("{label} --model dawid-skene --save model.json")).succeeded();
    let load = format!("{label} --load model.json");
    // eve is absent, and two workers are new.
    let known = "task,worker,label\nt,bob,dog\nt,ann,dog\nu,bob,cat\nu,ann,dog\n";
    sandbox.write("votes.csv", known);
    let ran = sandbox.labelflow(&load).succeeded();
    assert!(!ran.stderr.contains("not known"), "{}", ran.stderr);
    let expected = sandbox.read("out.csv");
    assert!(expected.starts_with("task,label,p_cat,p_dog") && expected.contains("\nt,dog,"), "{expected}");
    sandbox.write("votes.csv", known.to_owned() + "t,zoe,cat\nu,zoe,cat\nu,max,cat\nv,max,dog\n");
    sandbox.refuses(&format!("{load} --strict"), &["warning: votes.csv: 2 of 4 workers are not known"]);
    let ran = sandbox.labelflow(&format!("{load} --json report.json")).succeeded();
    let warning = "2 of 4 workers are not known to the label model; their votes, 4 of 8, are ignored";
    assert_eq!(ran.stderr.matches("not known").count(), 1);
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    assert!(sandbox.read("out.csv").starts_with(&expected), "{}", sandbox.read("out.csv"));
    let report = sandbox.json("report.json");
    assert_eq!((&report["n_rows"], &report["n_uncovered"]), (&3.into(), &1.into()));
    assert!(report["warnings"].to_string().contains("unknown-workers"), "{report}");
    sandbox.write("votes.csv", "task,worker,label\nt,zoe,dog\nu,max,cat\n");
    sandbox.refuses(&load, &["votes.csv", "one of the labelers ann, bob, eve, found zoe, max"]);
}

#[test]
fn classes_keep_the_codes_of_their_file() {
    let sandbox = Sandbox::with_problem();
    sandbox.labelflow(&format!("{LABEL} --model dawid-skene")).succeeded();
    let zero_based = labels(&sandbox.read("out.csv"));
    let votes = sandbox.read("signals.csv");
    let truth = sandbox.read("labels.csv");
    let (header, cells) = votes.split_once('\n').unwrap();
    for (abstain, codes) in [("zero", ["1", "2"]), ("signed", ["-1", "1"])] {
        let coded = |cells: &str| cells.replace('0', "x").replace('1', codes[1]).replace('x', codes[0]);
        sandbox.write("coded.csv", format!("{header}\n{}", coded(cells)));
        sandbox
            .write("truth.csv", truth.split_once('\n').map(|(_, cells)| format!("label\n{}", coded(cells))).unwrap());
        let label = format!("label --signals coded.csv --abstain {abstain} --model dawid-skene --out out.csv");
        let save = format!("{label} --labels-for-eval truth.csv --save model.json --write-counts counts.csv");
        sandbox.labelflow(&format!("{save} --json report.json")).succeeded();
        let out = sandbox.read("out.csv");
        assert!(out.starts_with(&format!("row,label,p_{},p_{}", codes[0], codes[1])), "{out}");
        for ((found, p), (expected, q)) in labels(&out).iter().zip(&zero_based) {
            assert_eq!((found.as_str(), p), (codes[expected.parse::<usize>().unwrap()], q));
        }
        assert!(sandbox.json("report.json")["metrics"]["accuracy"].as_f64().unwrap() > 0.7);
        // True labels may also be indices, and what is written is read again.
        sandbox.labelflow(&format!("{label} --labels-for-eval labels.csv --json other.json")).succeeded();
        assert_eq!(sandbox.json("report.json")["metrics"], sandbox.json("other.json")["metrics"]);
        sandbox.labelflow("report --predictions out.csv --labels truth.csv --out page.html").succeeded();
        let again = label.replace(" --model dawid-skene", " --load model.json");
        for again in [again.clone(), again.replace(&format!(" --abstain {abstain}"), "")] {
            sandbox.labelflow(&again).succeeded();
            assert_eq!(sandbox.read("out.csv"), out, "{again}");
        }
        let counted =
            |votes: &str| format!("label {votes} --abstain {abstain} --model dawid-skene --json n.json --out n.csv");
        sandbox.labelflow(&counted("--counts counts.csv")).succeeded();
        assert_eq!(sandbox.json("n.json")["classes"][1]["name"], codes[1]);
        assert_eq!(sandbox.json("n.json")["n_rows"], 60);
        sandbox.labelflow(&counted("--counts counts.csv").replace("n.json", "m.json")).succeeded();
        let report = sandbox.json("report.json");
        let balance = |report: &serde_json::Value| report["classes"][1]["balance"].as_f64().unwrap();
        assert!((balance(&sandbox.json("m.json")) - balance(&report)).abs() < 1e-9);
    }
}

#[test]
fn wrench_folders() {
    let sandbox = Sandbox::with_problem();
    let rows = wrench(&sandbox.read("signals.csv"), &sandbox.read("labels.csv"));
    sandbox.write("folder/train.json", &rows);
    let label = "label --wrench folder --out out.csv";
    let ran = sandbox.labelflow(label).succeeded();
    assert!(ran.stdout.contains("accuracy %"), "the folder's own labels: {}", ran.stdout);
    sandbox.refuses(&format!("{label} --part test"), &["folder", "expected the file test.json"]);
    sandbox.write("folder/test.json", &rows);
    sandbox.labelflow(&format!("{label} --part test")).succeeded();
    sandbox.labelflow("analyze --wrench folder").succeeded();
    sandbox.refuses("label --wrench nope", &["nope", "train.json"]);
    sandbox.refuses(&format!("{label} --abstain zero"), &["--abstain", "--wrench"]);
    sandbox.refuses(&format!("{LABEL} --part test"), &["--part", "--signals"]);
}

#[test]
fn settings_from_a_file_and_from_flags() {
    let sandbox = Sandbox::with_problem();
    sandbox.write("settings.toml", "model = \"data-programming\"\nmax_iterations = 1\n");
    let label = format!("{LABEL} --settings settings.toml");
    sandbox.labelflow(&label).succeeded();
    let one_round = sandbox.read("out.csv");
    sandbox.labelflow(&format!("{LABEL} --model data-programming")).succeeded();
    assert_ne!(sandbox.read("out.csv"), one_round);
    sandbox.labelflow(&format!("{label} --class-balance 0.9,0.1")).succeeded();
    let unequal = sandbox.read("out.csv");
    assert_ne!(unequal, one_round);
    // The flag wins over the file.
    sandbox.write("settings.toml", "model = \"data-programming\"\nmax_iterations = 1\nclass_balance = [0.9, 0.1]\n");
    sandbox.labelflow(&label).succeeded();
    assert_eq!(sandbox.read("out.csv"), unequal);
    sandbox.labelflow(&format!("{label} --class-balance estimated")).succeeded();
    assert_eq!(sandbox.read("out.csv"), one_round);
    sandbox.labelflow(&format!("{label} --class-balance uniform")).succeeded();
}

#[test]
fn settings_that_cannot_be() {
    let sandbox = Sandbox::with_problem();
    let refuses = |flags: &str, parts: &[&str]| sandbox.refuses(&format!("{LABEL} {flags}"), parts);
    refuses("--model dawid", &["model: expected one of majority-vote, ", "'dawid'"]);
    refuses("--model majority-vote --class-balance 0.5,0.5", &["class-balance", "majority-vote"]);
    refuses("--model snorkel --class-balance 0.5,x", &["class-balance", "'uniform'", "'0.5,x'"]);
    refuses("--model snorkel --class-balance 0.5", &["class_balance", "2 probabilities"]);
    refuses("--model snorkel --class-balance 0.9,0.9", &["class_balance", "sum to 1"]);
    refuses("--settings nope.toml", &["nope.toml", "No such file"]);
    for (text, parts) in [
        ("model = 3\n", ["model: expected a name", "3"]),
        ("rounds = 3\n", ["settings.toml: expected settings of auto (class_balance)", "'rounds'"]),
        ("model = \"average\"\nx = 1\n", ["settings of average (none)", "'x'"]),
        ("model = \"snorkel\"\nn_epochs = \"many\"\n", ["settings.toml", "invalid type"]),
        ("model = \"snorkel\"\nn_epochs = 0\n", ["n_epochs", "at least 1"]),
        ("model = ", ["settings.toml", "line 1"]),
    ] {
        sandbox.write("settings.toml", text);
        refuses("--settings settings.toml", &parts);
    }
    sandbox.write("settings.toml", "model = \"snorkel\"\n");
    refuses("--settings settings.toml --model metal", &["model: expected metal", "'snorkel'"]);
}

#[test]
fn what_must_be_known_of_labelers() {
    let sandbox = Sandbox::with_problem();
    let refuses = |flags: &str, parts: &[&str]| sandbox.refuses(&format!("{LABEL} {flags}"), parts);
    refuses("--model constrained-labels", &["expected the error bounds of each labeler", "none"]);
    for name in ["performance-guaranteed-vote", "adversarial-multiclass"] {
        let model = format!("--model {name}");
        refuses(&model, &[name, "expected the error rate of each labeler, found none"]);
        refuses(&format!("{model} --errors 1.5"), &["errors", "from 0 to 1", "1.5"]);
        refuses(&format!("{model} --errors nope.csv"), &["nope.csv", "No such file"]);
        refuses(&format!("{model} --labelled-signals signals.csv"), &["--labelled-truth"]);
        let measured = "--labelled-signals signals.csv --labelled-truth labels.csv";
        sandbox.labelflow(&format!("{LABEL} {model} {measured}")).succeeded();
    }
    let constrained = "--model constrained-labels";
    refuses(&format!("{constrained} --bounds -1"), &["bounds", "from 0 to 1", "-1"]);
    sandbox.labelflow(&format!("{LABEL} {constrained} --bounds auto")).succeeded();
    sandbox.write("errors.csv", "labeler,bound\nrule_a,0.2\nrule_c,0.3\nrule_b,0.2\n");
    let adversarial = "--model adversarial-multiclass --errors errors.csv";
    sandbox.labelflow(&format!("{LABEL} {adversarial}")).succeeded();
    let per_class = "labeler,0,1\nrule_a,0.2,0.1\nrule_b,0.2,0.2\nrule_c,0.2,0.2\n";
    sandbox.write("errors.csv", per_class);
    refuses(adversarial, &["errors.csv", "one error rate per labeler", "one per class"]);
    sandbox.write("other.csv", "x,y,z\n0,1,0\n");
    let other = "--labelled-signals other.csv --labelled-truth labels.csv";
    refuses(other, &["other.csv", "rule_a, rule_b, rule_c", "x, y, z"]);
}

#[test]
fn other_marks_for_abstentions() {
    let sandbox = Sandbox::with_problem();
    // The header has no zeros.
    let signed = sandbox.read("signals.csv").replace('0', "-1");
    sandbox.labelflow(LABEL).succeeded();
    let expected = sandbox.read("out.csv");
    sandbox.write("signals.csv", signed);
    sandbox.labelflow(&format!("{LABEL} --abstain signed")).succeeded();
    let in_codes = expected.replace(",p_0,", ",p_-1,").replace(",0,", ",-1,");
    assert_eq!(sandbox.read("out.csv"), in_codes);
    sandbox.labelflow("analyze --signals signals.csv --abstain signed").succeeded();
    let fit = "fit run.toml --features features.csv --signals signals.csv --epochs 3 --out model";
    sandbox.labelflow(&format!("{fit} --abstain signed")).succeeded();
    // Read as usual, -1 abstains and class 0 has no vote: that is said.
    let ran = sandbox.labelflow(&format!("{fit} --classes a,b")).succeeded();
    let doubt = "no labeler ever votes for class 'a'; if -1 is a class and 0 abstains";
    assert!(ran.stderr.contains(doubt), "{}", ran.stderr);
    let ran = sandbox.labelflow(&format!("{LABEL} --classes a,b")).succeeded();
    assert!(ran.stderr.contains(doubt), "{}", ran.stderr);
    sandbox.refuses(&format!("{LABEL} --abstain zero"), &["signals.csv, line", "0 for an abst"]);
    sandbox.refuses(&format!("{LABEL} --abstain none"), &["--abstain", "minus-one"]);
}

#[test]
fn labels_against_the_majority_are_warned_of() {
    let sandbox = Sandbox::with_problem();
    // Class 1 is held to be nearly impossible.
    let label = format!("{LABEL} --model data-programming --class-balance 0.999999,0.000001");
    let ran = sandbox.labelflow(&format!("{label} --json report.json")).succeeded();
    assert!(ran.stderr.contains("warning: data-programming: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("may be worse than a majority vote"), "{}", ran.stderr);
    let report = sandbox.json("report.json");
    let kinds: Vec<&str> = report["warnings"].as_array().unwrap().iter().map(|w| w["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"against-majority"), "{report}");
}

#[test]
fn input_that_is_missing_or_twice() {
    let sandbox = Sandbox::with_problem();
    sandbox.refuses("label", &["--signals", "--wrench", "--task-votes"]);
    sandbox.refuses(&format!("{LABEL} --wrench folder"), &["--signals", "--wrench"]);
    sandbox.refuses("label --signals nope.csv", &["nope.csv", "No such file"]);
    sandbox.refuses(&LABEL.replace("out.csv", "out.txt"), &["out.txt", "'txt'"]);
    sandbox.refuses(&format!("{LABEL} --labels-for-eval nope.csv"), &["nope.csv", "No such file"]);
    sandbox.write("short.csv", "label\n0\n");
    sandbox.refuses(&format!("{LABEL} --labels-for-eval short.csv"), &["short.csv", "60 rows"]);
}

#[test]
fn labelers_and_pairs_described() {
    let sandbox = Sandbox::with_problem();
    let analyze = "analyze --signals signals.csv --labels labels.csv --pairs";
    let ran = sandbox.labelflow(&format!("{analyze} --csv labelers.csv --json all.json"));
    let stdout = ran.succeeded().stdout;
    assert!(stdout.contains("correlation") && stdout.contains("learned accuracy %"), "{stdout}");
    let all = sandbox.json("all.json");
    let pair = &all["pairs"][1];
    assert_eq!((&pair["first"], &pair["second"]), (&"rule_a".into(), &"rule_c".into()));
    assert_eq!(pair["n_both"], 60);
    assert!(pair["correlation"].as_f64().unwrap() > 0.0, "{pair}");
    assert_eq!(all["labelers"].as_array().unwrap().len(), 3);
    let csv = sandbox.read("labelers.csv");
    let header = "name,polarity,n_votes,coverage,overlaps,conflicts,learned_accuracy,accuracy\n";
    assert!(csv.starts_with(&format!("{header}rule_a,0 1,60,1.0,1.0,")), "{csv}");
    let other = sandbox.labelflow(&format!("{analyze} --model majority-vote --json other.json"));
    other.succeeded();
    let learned = |name: &str| sandbox.json(name)["labelers"][0]["learned_accuracy"].clone();
    assert_ne!(learned("other.json"), learned("all.json"));
    sandbox.refuses(&format!("{analyze} --model dawid"), &["model: expected one of", "'dawid'"]);
    sandbox.refuses(&format!("{analyze} --csv labelers.txt"), &["labelers.txt", "'txt'"]);
}

#[test]
fn keywords_vote_on_texts() {
    let rules = "classes = [\"ham\", \"spam\"]\n\
        [[labelers]]\nclass = \"spam\"\nkeywords = [\"win\", \"prize\"]\n\
        [[labelers]]\nname = \"greeting\"\nclass = \"ham\"\nkeywords = [\"see you\"]\n";
    let sandbox =
        Sandbox::new().file("rules.toml", rules).file("texts.csv", "id,text\n1,WIN now\n2,\"see you, bye\"\n3,hm\n");
    let votes = "votes --texts texts.csv --rules rules.toml --out votes.csv";
    let ran = sandbox.labelflow(votes).succeeded();
    assert_eq!(sandbox.read("votes.csv"), "win prize,greeting\nspam,-1\n-1,ham\n-1,-1\n");
    assert!(ran.stderr.contains("2 labelers voted on 3 texts in votes.csv; 1 texts have no vote"));
    sandbox.labelflow("label --signals votes.csv --model majority-vote --out out.csv").succeeded();
    assert!(sandbox.read("out.csv").starts_with("row,label,p_ham,p_spam,n_votes\n0,spam,0.0,1.0,1\n"));
    sandbox.refuses(&format!("{votes} --column message"), &["texts.csv", "a column 'message'"]);
    sandbox.refuses(&votes.replace("texts.csv", "nope.csv"), &["nope.csv", "No such file"]);
    sandbox.refuses(&votes.replace("rules.toml", "nope.toml"), &["nope.toml", "No such file"]);
    sandbox.refuses(&votes.replace("votes.csv", "votes.txt"), &["votes.txt", "'txt'"]);
    sandbox.write("rules.toml", rules.replace("\"see you\"", "\"\""));
    sandbox.refuses(votes, &["rules.toml", "keywords with letters"]);
}

#[test]
fn rows_worth_another_vote_are_listed() {
    let votes = "id,a,b,c\np,x,x,x\nq,x,y,\nr,y,y,y\ns,,,\nt,y,y,x\n";
    let sandbox = Sandbox::new().file("votes.csv", votes);
    let label = "label --signals votes.csv --key id --model majority-vote --out out.csv";
    let ran = sandbox.labelflow(&format!("{label} --relabel 3")).succeeded();
    assert!(ran.stderr.contains("3 rows worth another vote in relabel.csv"), "{}", ran.stderr);
    let listed = sandbox.read("relabel.csv");
    let rows: Vec<&str> = listed.lines().collect();
    assert_eq!(rows[0], "id,label,n_votes,p_wrong,gain");
    let names: Vec<&str> = rows[1..].iter().map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(names, ["s", "q", "t"]);
    assert!(rows[2].starts_with("q,y,2,0.5,0."), "{listed}");
    // More rows than there are, in another place; or on standard output.
    sandbox.labelflow(&format!("{label} --relabel 9 --relabel-out all.csv")).succeeded();
    assert_eq!(sandbox.read("all.csv").lines().count(), 6);
    let ran = sandbox.labelflow(&format!("{label} --relabel 3 --relabel-out -")).succeeded();
    assert_eq!(ran.stdout, listed);
    sandbox.refuses(&format!("{label} --relabel 0"), &["--relabel", "'0'"]);
    sandbox.refuses(&format!("{label} --relabel-out a.csv"), &["--relabel"]);
    sandbox.refuses(&format!("{label} --relabel 2 --relabel-out out.csv"), &["--relabel-out", "--out"]);
    sandbox.refuses(&format!("{label} --relabel 2 --memory 1GB"), &["relabel: expected one file of votes"]);
}

#[test]
fn workers_are_described_by_how_many_votes_they_have() {
    let votes = "task,worker,label\nq,eve,0\nr,eve,1\nq,ann,0\nr,ann,1\ns,ann,1\nq,bob,1\nr,bob,1\n";
    let sandbox = Sandbox::new().file("votes.csv", votes);
    let ran = sandbox.labelflow("analyze --task-votes votes.csv --json all.json").succeeded();
    // Rows with 3 and 3 votes: D = (9 − 5) / 2, E = (36 − 4 − 16) / 5.
    assert!(ran.stdout.contains("Krippendorff's alpha): 0.375"), "{}", ran.stdout);
    let all = sandbox.json("all.json");
    assert_eq!(all["krippendorff_alpha"], 0.375);
    assert_eq!(all["classes"], serde_json::json!(["0", "1"]));
    let labelers = all["labelers"].as_array().unwrap();
    let names: Vec<&str> = labelers.iter().map(|labeler| labeler["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ann", "eve", "bob"]);
    for labeler in labelers {
        let cells = labeler["confusion"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap());
        let n_votes: f64 = cells.map(|cell| cell.as_f64().unwrap()).sum();
        assert!((n_votes - labeler["n_votes"].as_f64().unwrap()).abs() < 1e-9, "{labeler}");
    }
    // Of one voter nothing can be said.
    sandbox.write("votes.csv", "task,worker,label\nq,eve,0\nr,eve,1\n");
    let ran = sandbox.labelflow("analyze --task-votes votes.csv").succeeded();
    assert!(ran.stdout.contains("alpha): not defined"), "{}", ran.stdout);
}

mod real_data {
    use std::collections::HashMap;
    use std::path::PathBuf;

    use super::*;

    /// The first two columns, the key and the next one.
    fn pairs(csv: &str) -> Vec<(String, String)> {
        let rows = csv.lines().skip(1).map(|line| {
            let mut cells = line.split(',').map(str::to_owned);
            (cells.next().unwrap(), cells.next().unwrap())
        });
        rows.collect()
    }

    /// How many labels are wrong, and how many of those are among the hundred tasks that are listed.
    fn errors(model: &str) -> (usize, usize) {
        let folder = PathBuf::from(std::env::var_os("LABELFLOW_DATA").unwrap()).join("votes/crowd-dog");
        let sandbox = Sandbox::new();
        let votes = folder.join("answer.csv");
        let label = format!("label --task-votes {} --model {model} --relabel 100 --out out.csv", votes.display());
        sandbox.labelflow(&label).succeeded();
        let truth: HashMap<String, String> =
            pairs(&std::fs::read_to_string(folder.join("truth.csv")).unwrap()).into_iter().collect();
        let n_wrong = |rows: Vec<(String, String)>| rows.iter().filter(|(task, label)| truth[task] != *label).count();
        let listed = pairs(&sandbox.read("relabel.csv"));
        assert_eq!(listed.len(), 100);
        (n_wrong(pairs(&sandbox.read("out.csv"))), n_wrong(listed))
    }

    /// A hundred of 807 tasks chosen at random would hold an eighth of the errors.
    #[test]
    fn a_hundred_tasks_of_crowd_dog_hold_many_errors() {
        let (n_wrong, n_listed) = errors("hyper");
        assert!(n_listed >= 37, "{n_listed} of {n_wrong}");
        let (n_wrong, n_listed) = errors("majority-vote");
        assert!(n_listed >= 45, "{n_listed} of {n_wrong}");
    }
}
