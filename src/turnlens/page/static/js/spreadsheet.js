/* A table as a workbook (.xlsx): a ZIP archive, not compressed, of a few XML files. */
"use strict";

turnlens.spreadsheet = (() => {
  const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
  const OFFICE = "http://schemas.openxmlformats.org",
    MAIN = `${OFFICE}/spreadsheetml/2006/main`,
    RELATIONS = `${OFFICE}/package/2006/relationships`,
    RELATION = `${OFFICE}/officeDocument/2006/relationships`,
    TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml";
  const LONGEST = 32767; // characters of a cell
  const PARTS = {
    "[Content_Types].xml": `<Types xmlns="${OFFICE}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/><Override PartName="/sheet.xml" ContentType="${TYPE}.worksheet+xml"/></Types>`,
    "_rels/.rels": `<Relationships xmlns="${RELATIONS}"><Relationship Id="r1" Type="${RELATION}/officeDocument" Target="workbook.xml"/></Relationships>`,
    "workbook.xml": `<workbook xmlns="${MAIN}" xmlns:r="${RELATION}"><sheets><sheet name="turnlens" sheetId="1" r:id="r1"/></sheets></workbook>`,
    "_rels/workbook.xml.rels": `<Relationships xmlns="${RELATIONS}"><Relationship Id="r1" Type="${RELATION}/worksheet" Target="sheet.xml"/></Relationships>`,
  };

  /** @param rows Lists of texts and numbers; an empty text is an empty cell. */
  function xlsx(rows) {
    const sheet = rows.map((cells) => `<row>${cells.map(cell).join("")}</row>`).join("");
    const parts = {...PARTS, "sheet.xml": `<worksheet xmlns="${MAIN}"><sheetData>${sheet}</sheetData></worksheet>`};
    return new Blob(zip(Object.entries(parts).map(([name, text]) => [name, XML + text])), {type: `${TYPE}.sheet`});
  }

  function cell(value) {
    if (typeof value === "number") return `<c><v>${value}</v></c>`;
    if (value === "") return "<c/>";
    const text = value
      .slice(0, LONGEST)
      .toWellFormed()
      .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, " ")
      .replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
    return `<c t="inlineStr"><is><t xml:space="preserve">${text}</t></is></c>`;
  }

  function zip(files) {
    const parts = [],
      entries = [];
    let offset = 0;
    for (const [name, text] of files) {
      const [title, bytes] = [name, text].map((each) => new TextEncoder().encode(each));
      const about = [20, 0x800, 0, 0, 0x21].flatMap(two).concat([crc(bytes), bytes.length, bytes.length].flatMap(four));
      const names = [...two(title.length), 0, 0];
      const head = Uint8Array.from([...four(0x04034b50), ...about, ...names, ...title]);
      entries.push(Uint8Array.from([...four(0x02014b50), 20, 0, ...about, ...names, ...Array(10).fill(0), ...four(offset), ...title]));
      parts.push(head, bytes);
      offset += head.length + bytes.length;
    }
    const size = entries.reduce((sum, entry) => sum + entry.length, 0);
    const count = two(entries.length);
    return [...parts, ...entries, Uint8Array.from([...four(0x06054b50), 0, 0, 0, 0, ...count, ...count, ...four(size), ...four(offset), 0, 0])];
  }

  function two(value) {
    return [value & 255, (value >> 8) & 255];
  }

  function four(value) {
    return [...two(value), ...two(value >>> 16)];
  }

  const TABLE = Uint32Array.from({length: 256}, (_, value) => {
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value;
  });

  function crc(bytes) {
    let value = ~0;
    for (const byte of bytes) value = TABLE[(value ^ byte) & 255] ^ (value >>> 8);
    return ~value >>> 0;
  }

  return {xlsx};
})();
