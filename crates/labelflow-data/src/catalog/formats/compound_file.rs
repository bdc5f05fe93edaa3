//! Compound files, which hold old Excel workbooks: a small file system of sectors, chained by a table.
//!
//! Decoders follow those chains. A chain that bites its own tail would fill the memory, so all of them are walked here first: in a
//! whole file no two share a sector, and together they are no longer than the file.

use std::borrow::Cow;

/// The length of the header, and of the shortest sector.
const HEADER: usize = 512;
const END_OF_CHAIN: u32 = 0xffff_fffe;
/// Numbers from here on are no sectors.
const NO_SECTOR: u32 = 0xffff_fffa;
/// Places of sectors of the table that the header itself names.
const N_IN_HEADER: usize = 109;
const MINI_SECTOR: usize = 64;
/// Shorter streams are kept in mini sectors.
const SHORTEST_STREAM: usize = 4096;
const ENTRY: usize = 128;

/// A compound file whose chains all end.
pub(crate) struct CompoundFile<'a> {
    large: Sectors<'a>,
    small: Sectors<'a>,
    entries: Vec<Entry>,
}

/// A line of the directory.
struct Entry {
    name: String,
    start: u32,
    len: usize,
}

/// Sectors of one size, and of each, which one follows.
struct Sectors<'a> {
    bytes: Cow<'a, [u8]>,
    size: usize,
    table: Vec<u32>,
}

impl Sectors<'_> {
    /// The most that all chains together can have: they share no sector.
    fn budget(&self) -> usize {
        self.bytes.len() / self.size + 2
    }

    /// The bytes of a sector; the last one may be cut.
    fn sector(&self, index: u32) -> Option<&[u8]> {
        let start = (index as usize).checked_mul(self.size)?;
        self.bytes.get(start..self.bytes.len().min(start.checked_add(self.size)?))
    }

    /// The bytes of a chain of sectors, at most `len` of them; each sector is taken from the budget.
    fn chain(&self, mut index: u32, len: usize, budget: &mut usize) -> Option<Vec<u8>> {
        let mut chain = Vec::new();
        while index != END_OF_CHAIN && chain.len() < len {
            *budget = budget.checked_sub(1)?;
            chain.extend_from_slice(self.sector(index)?);
            index = *self.table.get(index as usize)?;
        }
        chain.truncate(len);
        Some(chain)
    }
}

impl<'a> CompoundFile<'a> {
    /// Nothing if the file is damaged.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let header = bytes.get(..HEADER)?;
        let size = match u16::from_le_bytes([header[30], header[31]]) {
            9 => 512,
            12 => 4096,
            _ => return None,
        };
        let mut large = Sectors { bytes: bytes.get(size..)?.into(), size, table: Vec::new() };
        large.table = read_table(&large, header)?;
        let mut budget = large.budget();
        let directory = large.chain(number(header, 48)?, usize::MAX, &mut budget)?;
        let entries: Vec<Entry> = directory.chunks_exact(ENTRY).map(|entry| read_entry(entry, size)).collect();
        let mut small = Sectors { bytes: Cow::default(), size: MINI_SECTOR, table: Vec::new() };
        if number(header, 64)? > 0 {
            let root = entries.first()?;
            small.bytes = large.chain(root.start, root.len, &mut budget)?.into();
            small.table = numbers(&large.chain(number(header, 60)?, usize::MAX, &mut budget)?);
        }
        let file = Self { large, small, entries };
        let mut small_budget = file.small.budget();
        for entry in file.entries.iter().skip(1).filter(|entry| entry.len > 0) {
            let is_small = entry.len < SHORTEST_STREAM;
            let budget = if is_small { &mut small_budget } else { &mut budget };
            file.sectors_of(entry).chain(entry.start, entry.len, budget)?;
        }
        Some(file)
    }

    /// What the stream of this name holds.
    pub(crate) fn stream(&self, name: &str) -> Option<Vec<u8>> {
        let entry = self.entries.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))?;
        let sectors = self.sectors_of(entry);
        sectors.chain(entry.start, entry.len, &mut sectors.budget())
    }

    fn sectors_of(&self, entry: &Entry) -> &Sectors<'a> {
        if entry.len < SHORTEST_STREAM { &self.small } else { &self.large }
    }
}

/// The table of sectors, whose own sectors are named in the header and in a chain after it.
fn read_table(sectors: &Sectors<'_>, header: &[u8]) -> Option<Vec<u32>> {
    let mut places = numbers(&header[HEADER - 4 * N_IN_HEADER..]);
    let mut next = number(header, 68)?;
    let mut budget = sectors.budget();
    while next < NO_SECTOR {
        budget = budget.checked_sub(1)?;
        places.extend(numbers(sectors.sector(next)?));
        next = places.pop()?;
    }
    places.retain(|&place| place < NO_SECTOR);
    if places.len() > sectors.budget() {
        return None;
    }
    let tables = places.into_iter().map(|place| sectors.sector(place).map(numbers));
    Some(tables.collect::<Option<Vec<_>>>()?.concat())
}

fn read_entry(bytes: &[u8], sector: usize) -> Entry {
    let letters = bytes[..64].chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let name: Vec<u16> = letters.take_while(|&letter| letter != 0).collect();
    let mut len = u64::from(number(bytes, 120).unwrap_or(0));
    if sector > HEADER {
        len |= u64::from(number(bytes, 124).unwrap_or(0)) << 32;
    }
    Entry {
        name: String::from_utf16_lossy(&name),
        start: number(bytes, 116).unwrap_or(END_OF_CHAIN),
        len: usize::try_from(len).unwrap_or(usize::MAX),
    }
}

fn number(bytes: &[u8], place: usize) -> Option<u32> {
    let bytes = bytes.get(place..place + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).filter_map(|chunk| number(chunk, 0)).collect()
}
