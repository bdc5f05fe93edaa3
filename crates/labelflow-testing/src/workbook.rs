//! A small Excel workbook, made byte by byte: a compound file whose only stream is the workbook.

const SECTOR: usize = 512;
/// Shorter streams would be kept in another way.
const SHORTEST_STREAM: usize = 4096;
const END_OF_CHAIN: u32 = 0xffff_fffe;
const FREE: u32 = 0xffff_ffff;
const FAT_SECTOR: u32 = 0xffff_fffd;

fn record(kind: u16, data: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &(data.len() as u16).to_le_bytes(), data].concat()
}

fn beginning_of(what: u16) -> Vec<u8> {
    let fields = [0x0600_u16, what, 0x0dbb, 0x07cc, 0, 0, 6, 0];
    record(0x0809, &fields.map(u16::to_le_bytes).concat())
}

fn number(row: u16, column: u16, value: f64) -> Vec<u8> {
    let place = [row, column, 0].map(u16::to_le_bytes).concat();
    record(0x0203, &[&place[..], &value.to_le_bytes()].concat())
}

/// The stream: the workbook, then its sheet 'Data' with two rows.
fn stream() -> Vec<u8> {
    let end = record(0x000a, &[]);
    let globals_length = beginning_of(5).len() + record(0x0085, &[0; 12]).len() + end.len();
    let sheet = [&(globals_length as u32).to_le_bytes()[..], &[0, 0, 4, 0], b"Data"].concat();
    let label = record(0x0204, &[&[0, 0, 0, 0, 0, 0, 3, 0, 0][..], b"abc"].concat());
    let cells = [label, number(0, 1, 2.5), number(1, 0, -1.0), number(1, 1, 1e300)].concat();
    let globals = [beginning_of(5), record(0x0085, &sheet), end.clone()].concat();
    [globals, beginning_of(0x0010), cells, end].concat()
}

fn directory_entry(name: &str, kind: u8, child: u32, start: u32, length: u32) -> Vec<u8> {
    let mut entry = vec![0; 128];
    for (place, letter) in name.encode_utf16().enumerate() {
        entry[2 * place..2 * place + 2].copy_from_slice(&letter.to_le_bytes());
    }
    entry[64..66].copy_from_slice(&(2 * (name.len() as u16 + 1)).to_le_bytes());
    entry[66] = kind;
    entry[67] = 1;
    for (place, value) in [(68, FREE), (72, FREE), (76, child), (116, start), (120, length)] {
        entry[place..place + 4].copy_from_slice(&value.to_le_bytes());
    }
    entry
}

pub(crate) fn valid() -> Vec<Vec<u8>> {
    let mut stream = stream();
    stream.resize(SHORTEST_STREAM, 0);
    let n_sectors = (stream.len() / SECTOR) as u32;
    // Sector 0 is the table of sectors, sector 1 the directory, the stream follows.
    let mut header = vec![0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
    header.resize(24, 0);
    header.extend([0x3e_u16, 3, 0xfffe, 9, 6].map(u16::to_le_bytes).concat());
    header.resize(44, 0);
    let numbers = [1, 1, 0, SHORTEST_STREAM as u32, END_OF_CHAIN, 0, END_OF_CHAIN, 0, 0];
    header.extend(numbers.map(u32::to_le_bytes).concat());
    header.resize(SECTOR, 0xff);
    let mut table = vec![FAT_SECTOR, END_OF_CHAIN];
    table.extend(3..2 + n_sectors);
    table.push(END_OF_CHAIN);
    table.resize(SECTOR / 4, FREE);
    let table: Vec<u8> = table.into_iter().flat_map(u32::to_le_bytes).collect();
    let mut directory = directory_entry("Root Entry", 5, 1, END_OF_CHAIN, 0);
    directory.extend(directory_entry("Workbook", 2, FREE, 2, stream.len() as u32));
    directory.resize(SECTOR, 0);
    vec![[header, table, directory, stream].concat()]
}
