//! Where votes come from.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use labelflow_data::inputs::{AbstainConvention, DuplicateVotes, TaskVotesColumns};

use super::{KeyArgs, flag_values};
use crate::inputs::memory_size::MemorySize;

flag_values! {
    /// How a table of numbers says that a labeler abstains.
    AbstainName for AbstainConvention {
        /// -1 or a missing cell; classes count from 0
        #[value(alias = "minus_one")]
        MinusOne,
        /// 0 or a missing cell; classes count from 1
        Zero,
        /// A missing cell alone; classes count from 0
        Missing,
        /// 0 or a missing cell; the classes are -1 and 1
        Signed,
        /// The first of minus-one, zero and signed that gives every class a vote
        Detect,
    }
}

flag_values! {
    /// What is done about a second vote of a worker on a task.
    DuplicatesName for DuplicateVotes {
        /// Name both lines and end
        Refuse,
        /// The first one counts
        First,
        /// The last one counts
        Last,
    }
}

/// Where votes come from and how they are written.
#[derive(Debug, Args)]
pub(crate) struct SignalsArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// File of the WRENCH folder to read
    #[arg(long, value_enum, default_value = "train", conflicts_with_all = ["signals", "task_votes", "counts"])]
    pub(crate) part: WrenchPart,
    /// How a table of numbers marks that a labeler abstains [default: detect]
    #[arg(long, value_enum, value_name = "CONVENTION", conflicts_with = "wrench")]
    pub(crate) abstain: Option<AbstainName>,
    /// Names of the classes, in order, separated by commas [default: as found in the votes]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "wrench")]
    pub(crate) classes: Option<Vec<String>>,
    /// Most memory to use, such as 512MB, while parquet files are read batch by batch [default: 1GB for a folder or a
    /// pattern; a single file is read whole]
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["wrench", "task_votes", "counts"])]
    pub(crate) memory: Option<MemorySize>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) crowd: CrowdArgs,
}

/// How the table of --task-votes is read.
#[derive(Debug, Args)]
pub(crate) struct CrowdArgs {
    /// Column of --task-votes that names tasks [default: task, or question, item, row or id]
    #[arg(long, value_name = "COLUMN", conflicts_with_all = OTHER_SOURCES)]
    task_column: Option<String>,
    /// Column of --task-votes that names workers [default: worker, or annotator or user]
    #[arg(long, value_name = "COLUMN", conflicts_with_all = OTHER_SOURCES)]
    worker_column: Option<String>,
    /// Column of --task-votes with their answers [default: label, or answer, vote or class]
    #[arg(long, value_name = "COLUMN", conflicts_with_all = OTHER_SOURCES)]
    answer_column: Option<String>,
    /// What to do where a worker of --task-votes votes twice on a task
    #[arg(long, value_enum, value_name = "RULE", default_value = "refuse", conflicts_with_all = OTHER_SOURCES)]
    duplicates: DuplicatesName,
}

const OTHER_SOURCES: [&str; 3] = ["signals", "wrench", "counts"];

impl CrowdArgs {
    pub(crate) fn columns(&self) -> TaskVotesColumns {
        let [task, worker, answer] = [&self.task_column, &self.worker_column, &self.answer_column].map(Clone::clone);
        TaskVotesColumns { task, worker, answer }
    }

    pub(crate) fn duplicates(&self) -> DuplicateVotes {
        self.duplicates.into()
    }
}

/// One of four forms of votes.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct SourceArgs {
    /// Votes or probabilities, one column per labeler: a file, a folder of parquet files, or a pattern such as 'votes/*.parquet'
    #[arg(long, value_name = "FILE")]
    pub(crate) signals: Option<PathBuf>,
    /// Distinct rows of votes with a column `count`, as --write-counts writes them
    #[arg(long, value_name = "FILE")]
    pub(crate) counts: Option<PathBuf>,
    /// Folder of the WRENCH benchmark; its labels are used for evaluation only
    #[arg(long, value_name = "DIR")]
    pub(crate) wrench: Option<PathBuf>,
    /// Votes of a crowd, one line per vote: task, worker, label
    #[arg(long, value_name = "FILE")]
    pub(crate) task_votes: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WrenchPart {
    Train,
    Valid,
    Test,
}
