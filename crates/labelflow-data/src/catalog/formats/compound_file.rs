//! Compound files, which hold old Excel workbooks: a small file system of sectors, chained by a table.
//!
//! Decoders follow those chains. A chain that bites its own tail would fill the memory, so all of them are walked here first: in a
//! whole file no two share a sector, and together they are no longer than the file.

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
    bytes: &'a [u8],
    sector: usize,
    table: Vec<u32>,
    entries: Vec<Entry>,
    mini_table: Vec<u32>,
    mini_stream: Vec<u8>,
}

/// A line of the directory.
struct Entry {
    name: String,
    start: u32,
    len: usize,
}

impl<'a> CompoundFile<'a> {
    /// Nothing if the file is damaged.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let header = bytes.get(..HEADER)?;
        let sector = match u16::from_le_bytes([header[30], header[31]]) {
            9 => 512,
            12 => 4096,
            _ => return None,
        };
        let mut file = Self {
            bytes,
            sector,
            table: Vec::new(),
            entries: Vec::new(),
            mini_table: Vec::new(),
            mini_stream: Vec::new(),
        };
        file.table = file.read_table(header)?;
        // Of all chains together: they share no sector.
        let mut budget = file.n_sectors();
        let directory = file.chain(number(header, 48)?, usize::MAX, &mut budget)?;
        file.entries = directory.chunks_exact(ENTRY).map(|entry| file.entry(entry)).collect();
        if number(header, 64)? > 0 {
            let root = file.entries.first()?;
            let (start, len) = (root.start, root.len);
            file.mini_stream = file.chain(start, len, &mut budget)?;
            let mini_table = file.chain(number(header, 60)?, usize::MAX, &mut budget)?;
            file.mini_table = numbers(&mini_table);
        }
        let mut mini_budget = file.mini_table.len();
        for entry in file.entries.iter().skip(1).filter(|entry| entry.len > 0) {
            match entry.len < SHORTEST_STREAM {
                true => file.mini_chain(entry, &mut mini_budget)?,
                false => file.chain(entry.start, entry.len, &mut budget)?,
            };
        }
        Some(file)
    }

    /// What the stream of this name holds.
    pub(crate) fn stream(&self, name: &str) -> Option<Vec<u8>> {
        let entry = self.entries.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))?;
        match entry.len < SHORTEST_STREAM {
            true => self.mini_chain(entry, &mut self.mini_table.len()),
            false => self.chain(entry.start, entry.len, &mut self.n_sectors()),
        }
    }

    fn n_sectors(&self) -> usize {
        self.bytes.len() / self.sector + 1
    }

    /// The bytes of a sector; the last one may be cut.
    fn sector(&self, index: u32) -> Option<&'a [u8]> {
        let start = (index as usize).checked_add(1)?.checked_mul(self.sector)?;
        self.bytes.get(start..self.bytes.len().min(start.checked_add(self.sector)?))
    }

    /// The table of sectors: of each, which one follows.
    fn read_table(&self, header: &[u8]) -> Option<Vec<u32>> {
        let mut places = numbers(&header[HEADER - 4 * N_IN_HEADER..]);
        let mut next = number(header, 68)?;
        let mut n_read = 0;
        while next < NO_SECTOR {
            n_read += 1;
            if n_read > self.n_sectors() {
                return None;
            }
            places.extend(numbers(self.sector(next)?));
            next = places.pop()?;
        }
        places.retain(|&place| place < NO_SECTOR);
        if places.len() > self.n_sectors() {
            return None;
        }
        let mut table = Vec::new();
        for place in places {
            table.extend(numbers(self.sector(place)?));
        }
        Some(table)
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

    fn mini_chain(&self, entry: &Entry, budget: &mut usize) -> Option<Vec<u8>> {
        let (mut index, mut chain) = (entry.start, Vec::new());
        while index != END_OF_CHAIN && chain.len() < entry.len {
            *budget = budget.checked_sub(1)?;
            let start = (index as usize).checked_mul(MINI_SECTOR)?;
            let end = self.mini_stream.len().min(start.checked_add(MINI_SECTOR)?);
            chain.extend_from_slice(self.mini_stream.get(start..end)?);
            index = *self.mini_table.get(index as usize)?;
        }
        chain.truncate(entry.len);
        Some(chain)
    }

    fn entry(&self, bytes: &[u8]) -> Entry {
        let letters =
            bytes[..64].chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let name: Vec<u16> = letters.take_while(|&letter| letter != 0).collect();
        let mut len = u64::from(number(bytes, 120).unwrap_or(0));
        if self.sector > HEADER {
            len |= u64::from(number(bytes, 124).unwrap_or(0)) << 32;
        }
        Entry {
            name: String::from_utf16_lossy(&name),
            start: number(bytes, 116).unwrap_or(END_OF_CHAIN),
            len: usize::try_from(len).unwrap_or(usize::MAX),
        }
    }
}

fn number(bytes: &[u8], place: usize) -> Option<u32> {
    let bytes = bytes.get(place..place + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).filter_map(|chunk| number(chunk, 0)).collect()
}
