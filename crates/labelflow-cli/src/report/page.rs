//! What a page is made of, before it is written as HTML.

use crate::chart::{Chart, DataTable};

/// A whole page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Page {
    pub(crate) sections: Vec<Section>,
}

/// A part of the page with a title.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// For references; small letters.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) blocks: Vec<Block>,
}

/// One thing below the other. All text is plain: it is escaped when it is written.
#[derive(Debug, Clone)]
pub(crate) enum Block {
    /// A paragraph.
    Text(String),
    /// A title within a section.
    Heading(String),
    /// Numbers to see first, each after its name.
    Figures(Vec<(&'static str, String)>),
    /// Charts side by side where there is room.
    Charts(Vec<Chart>),
    /// A table.
    Table(PageTable),
    /// A table that is opened on demand.
    Details { summary: String, table: PageTable },
}

/// A table whose first column holds names.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageTable {
    /// What it shows, for those who do not see it.
    pub(crate) caption: String,
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<PageCell>>,
}

/// A cell: a number or a name, in bold where it is the best or differs, and remarks below it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PageCell {
    pub(crate) text: String,
    pub(crate) is_bold: bool,
    pub(crate) remarks: Vec<String>,
}

impl From<String> for PageCell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl PageTable {
    pub(crate) fn new(caption: &str, data: DataTable) -> Self {
        let cells = |row: Vec<String>| row.into_iter().map(PageCell::from).collect();
        Self { caption: caption.to_owned(), header: data.header, rows: data.rows.into_iter().map(cells).collect() }
    }
}

impl Page {
    /// All charts, in their order.
    pub(crate) fn charts(&self) -> impl Iterator<Item = &Chart> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        blocks.flat_map(|block| match block {
            Block::Charts(charts) => charts.as_slice(),
            _ => &[],
        })
    }

    /// Gives every chart a name of its own.
    pub(crate) fn with_unique_names(mut self) -> Self {
        let mut taken: Vec<String> = Vec::new();
        for block in self.sections.iter_mut().flat_map(|section| &mut section.blocks) {
            let Block::Charts(charts) = block else { continue };
            for chart in charts {
                let base = slug(&chart.name);
                let numbered = (2..).map(|number| format!("{base}-{number}"));
                let mut names = std::iter::once(base.clone()).chain(numbered);
                chart.name = names.find(|name| !taken.contains(name)).unwrap_or(base);
                taken.push(chart.name.clone());
            }
        }
        self
    }
}

/// Small letters, digits and hyphens: a name for a file on any system.
fn slug(name: &str) -> String {
    let sign = |sign: char| if sign.is_ascii_alphanumeric() { sign.to_ascii_lowercase() } else { '-' };
    let text: String = name.chars().map(sign).take(60).collect();
    match text.trim_matches('-') {
        "" => "chart".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_have_names_that_files_can_have() {
        let chart = |name: &str| Chart::of_curves(name, "t", "x", "y", &[]);
        let charts = ["Loss", "loss", "../é", "a b/c", ""].map(chart).to_vec();
        let section = Section { name: "a", title: "A", blocks: vec![Block::Charts(charts)] };
        let page = Page { sections: vec![section] }.with_unique_names();
        let names: Vec<&str> = page.charts().map(|chart| chart.name.as_str()).collect();
        assert_eq!(names, ["loss", "loss-2", "chart", "a-b-c", "chart-2"]);
    }
}
