// The page: sends the file, shows its columns, asks for the report. Names from the file are only ever set as text.
"use strict";

const $ = id => document.getElementById(id);
const ENDED = "The program has ended: start it again, and open the address that it prints.";
const LOST = "This tab is not known any more: load the page again.";
const NO_C = ["lda", "pls", "forest", "boosting"];  // kinds of models without this setting
const BINARY = ["xlsx", "xls", "xlsm", "ods", "sav", "zsav", "dta", "parquet", "pq", "npz"];  // other endings: text
const POLL = 300, BEAT = 2000, MOST_ROWS = 200, FILTER_FROM = 25;
const ROLES = {
  "": "as the program decides", keep: "predict from it all the same (--keep)", drop: "leave it out (--drop)",
  id: "it names the rows (--id)",
};
const SAID = {
  feature: "predicts the outcome", target: "the outcome", groups: "tells patients apart", id: "names the rows",
};

let tab = null, most = Infinity, columns = [], look = {}, ended = false, turn = 0, chosen = {}, positive = "", fileName = "";

// ---- Talking to the program

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, {cache: "no-store", ...options});
  } catch {
    theEnd();
    throw new Error(ENDED);
  }
  if (answer.status === 204) return {};
  const body = await answer.json().catch(() => ({refused: "The program gave no answer."}));
  if (!answer.ok) throw new Error(body.refused || "The program gave no answer.");
  return body;
}

const post = (path, body) => ask(path, {method: "POST", body: JSON.stringify(body ?? {})});
const pause = time => new Promise(done => setTimeout(done, time));

function theEnd() {
  if (ended) return;
  ended = true;
  $("ended").textContent = ENDED;
  $("ended").hidden = false;
  for (const control of document.querySelectorAll("button, select, input")) control.disabled = true;
  $("progress").hidden = true;
  for (const place of document.querySelectorAll(".status")) place.textContent = "";
  $("ended").scrollIntoView({block: "center"});
}

// Does the program still run? Asked now and then, so that the page says it before somebody works in vain.
async function beat() {
  while (!ended) {
    await pause(BEAT);
    if (tab && !ended) await ask(`tabs/${tab}`).catch(error => error.message === ENDED || complain("file", error.message));
  }
}

// ---- Words and alerts

function complain(place, message) {
  const box = $(`${place}-alert`);
  box.textContent = (message || "").replace(/^[a-z]+ /, word => word[0].toUpperCase() + word.slice(1));
  box.hidden = !message || ended;
}

const say = (place, message) => { $(`${place}-status`).textContent = message; };
const counted = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function fill(select, options, value) {
  select.replaceChildren(...options.map(([key, text]) => element("option", text, {value: key})));
  select.value = value ?? "";
}

// ---- 1. The file

async function take(file) {
  if (!file || ended) return;
  const mine = ++turn;
  for (const part of ["choose", "result", "reading"]) $(part).hidden = true;
  $("reading").open = false;
  for (const place of ["file", "target", "report"]) { complain(place, ""); say(place, ""); }
  chosen = {};
  positive = "";
  for (const field of document.querySelectorAll(".settings input, .settings select")) {
    if (field.type === "checkbox") field.checked = false; else field.value = "";
  }
  $("groups").value = $("target").value = "";
  if (file.size > most) return complain("file", `${file.name} is larger than ${most >> 20} MB: use the command line for it.`);
  say("file", `Reading ${file.name} ...`);
  try {
    if (!tab) ({tab, most} = await post("tabs"));
    ({name: fileName} = await ask(`tabs/${tab}/file?name=${encodeURIComponent(file.name)}`, {method: "PUT", body: file}));
    const ending = file.name.split(".").pop().toLowerCase(), kind = BINARY.includes(ending) ? ending : "text";
    for (const field of document.querySelectorAll("[data-kinds]")) field.hidden = !field.dataset.kinds.includes(kind);
    $("reading").hidden = false;
    await lookAgain(mine);
  } catch (error) {
    if (mine === turn) { say("file", ""); complain("file", error.message); }
  }
}

// Wait until the work that was just begun is done; null if something else was begun since.
async function done(mine) {
  for (;;) {
    const state = await ask(`tabs/${tab}`);
    if (mine !== turn) return null;
    if (!state.doing) return state;
    progress(state);
    await pause(POLL);
  }
}

async function lookAgain(mine) {
  await post(`tabs/${tab}/look`, choices());
  const state = await done(mine);
  if (!state) return;
  if (state.refused) {
    say("file", "");
    say("target", "");
    complain("file", state.refused);
    $("reading").open = state.refused.includes("--");  // the message names a setting
    for (const part of ["choose", "result"]) $(part).hidden = true;
    return;
  }
  const first = $("choose").hidden;
  look = state.look;
  columns = look.columns;
  say("file", `${fileName}: ${counted(look.rows, "row")}, ${counted(columns.length, "column")}.`);
  complain("file", "");
  show();
  if (first) { $("choose").hidden = false; $("h-target").focus(); }
}

// ---- 2. and 3. What was read, and what was chosen

function choices() {
  const value = id => $(id).value.trim();
  const told = {};
  for (const name of ["censored", "C", "level", "sheet", "sep", "decimal", "thousands", "encoding"]) {
    if (value(name)) told[name] = value(name);
  }
  for (const name of ["target", "groups"]) if ($(name).value) told[name] = $(name).value;
  if (positive) told.positive = positive;
  if ($("model").value && $("model").value !== "logistic") told.model = value("model");
  if (value("na")) told.na = value("na").split(",").map(word => word.trim()).filter(Boolean);
  if ($("log").checked) told.log = true;
  for (const [name, role] of Object.entries(chosen)) {
    if (role === "id") told.id = name;
    else if (role && name !== told.target && name !== told.groups) (told[role] ??= []).push(name);
  }
  if (NO_C.includes(told.model)) delete told.C;
  return told;
}

function show() {
  const few = c => c.levels >= 2 && c.levels <= 10;
  const target = $("target").value || look.target || "";
  const names = [...columns.filter(few), ...columns.filter(c => !few(c))].map(c => [c.name, c.name]);
  fill($("target"), [["", "choose a column"], ...names], target);
  const found = Object.keys(look.roles || {}).find(name => look.roles[name] === "groups");
  const alone = found && found !== $("groups").value ? `${found}, as found by the program` : "no, one row each";
  fill($("groups"), [["", alone], ...columns.map(c => [c.name, c.name])], $("groups").value);
  if (!$("model").options.length) fill($("model"), look.models, "logistic");
  const classes = look.classes || [], two = classes.length === 2;
  if (!classes.some(([label]) => positive && label === `not ${positive}`)) {  // else one of several was chosen here
    const labels = classes.map(([label, n]) => [label, `${label} (${counted(n, "row")})${two ? "" : " against all others"}`]);
    fill($("positive"), two ? labels : [["", "all of them, two at a time"], ...labels], two ? look.positive : "");
  }
  $("positive-field").hidden = !classes.length;
  $("groups-field").hidden = $("last").hidden = !target;
  $("read-as").textContent = `Read as: ${look.read_as}.`;
  complain("target", look.problem || "");
  say("target", look.classes ? told() : "");
  $("prepared").textContent = look.prepared ? `Prepared: ${look.prepared}.` : "";
  $("notes").replaceChildren(...(look.notes || []).map(note => element("li", note)));
  $("go").disabled = !look.classes;
  $("filter-field").hidden = columns.length < FILTER_FROM;
  rows();
}

function told() {
  const sizes = look.classes.map(([label, n]) => `${n.toLocaleString("en")} “${label}”`).join(", ");
  return `Classes: ${sizes}. ${look.positive_words}`;
}

function rows() {
  const wanted = $("filter").value.trim().toLowerCase();
  const found = columns.filter(c => c.name.toLowerCase().includes(wanted));
  $("columns").replaceChildren(...found.slice(0, MOST_ROWS).map(row));
  const rest = found.length - MOST_ROWS;
  $("more-columns").textContent = rest > 0 ? `${rest.toLocaleString("en")} more columns are not shown: find one by its name.` : "";
}

function row(column) {
  const line = element("tr"), role = (look.roles || {})[column.name], reason = (look.reasons || {})[column.name];
  const holds = element("td", column.holds, {"data-label": "Holds"});
  if (column.shown?.length) holds.append(element("small", column.shown.join(", ")));
  const count = (label, n) => element("td", n === undefined ? "" : n.toLocaleString("en"), {class: "n", "data-label": label});
  const used = element("td");
  if (!$("target").value) used.append("");  // nothing to decide yet
  else if (column.name === $("target").value || column.name === $("groups").value) used.append(SAID[role] || "-");
  else used.append(roleOf(column, role, reason));
  if (look.classes && !role) line.className = "unused";
  line.append(element("th", column.name || "(no name)", {scope: "row"}), holds, count("Missing", column.missing),
    count("Different values", column.levels), used);
  return line;
}

function roleOf(column, role, reason) {
  const select = element("select", undefined, {"aria-label": `Use of ${column.name}`});
  const decided = look.classes ? SAID[role] || `left out${reason ? `: ${reason}` : ""}` : ROLES[""];
  fill(select, Object.entries({...ROLES, "": chosen[column.name] ? ROLES[""] : decided}), chosen[column.name] || "");
  select.addEventListener("change", () => {
    for (const [name, other] of Object.entries(chosen)) if (other === "id" && select.value === "id") delete chosen[name];
    chosen[column.name] = select.value;
    changed();
  });
  return select;
}

async function changed() {
  if (!tab || ended) return;
  const mine = ++turn;
  $("go").disabled = true;
  complain("report", "");
  $("stale").hidden = false;
  if ($("target").value || look.classes) say("target", "Looking at the columns ...");
  try {
    await lookAgain(mine);
    if (mine === turn && !look.classes) say("target", "");
  } catch (error) {
    if (mine === turn) { say("target", ""); complain($("choose").hidden ? "file" : "target", error.message); }
  }
}

// ---- 4. The report

function progress(state) {
  if (state.doing !== "report") return;
  $("bar").max = state.of || 1;
  if (state.done === undefined) $("bar").removeAttribute("value"); else $("bar").value = state.done;
  $("part").textContent = state.part || "";
}

async function make() {
  const mine = ++turn;
  busy(true);
  complain("report", "");
  say("report", "Making the report ...");
  $("result").hidden = true;
  try {
    progress(await post(`tabs/${tab}/report`, {...choices(), "no-search": $("no-search").checked}));
    const state = await done(mine);
    if (!state) return;
    say("report", "");
    if (state.report) answer(state.report); else complain("report", state.refused || "The work was stopped.");
  } catch (error) {
    if (mine === turn) { say("report", ""); complain("report", error.message); }
  } finally {
    if (mine === turn) busy(false);
  }
}

function busy(yes) {
  $("go").disabled = yes || ended;
  $("stop").hidden = $("progress").hidden = !yes || ended;
}

function answer(found) {
  const verdict = $("verdict");
  verdict.className = `verdict ${found.verdict.replaceAll(" ", "-")}`;
  verdict.querySelector("b").textContent = found.verdict;
  verdict.querySelector("span").textContent = `AUC ${found.auc}. ${found.sentence}`;
  $("reasons").replaceChildren(...found.reasons.map(reason => element("li", reason)));
  $("positive-words").textContent = found.positive_words;
  $("stale").hidden = true;
  $("command").textContent = found.command;
  $("lines").textContent = found.lines;
  for (const link of document.querySelectorAll("[data-file]")) {
    link.href = `tabs/${tab}/${link.dataset.file}${link.dataset.query || ""}`;
  }
  $("report").src = `tabs/${tab}/report.html?${turn}`;
  $("result").hidden = false;
  $("h-result").focus();
}

function fit() {  // the frame is as high as the report
  const height = $("report").contentDocument?.documentElement?.getBoundingClientRect().height;
  if (height) $("report").style.height = `${Math.ceil(height) + 4}px`;
}

async function copy(button) {
  const what = $(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(what.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(what);
  }
}

// ---- Everything that can be clicked, dropped or chosen

$("file").addEventListener("change", () => { take($("file").files[0]); $("file").value = ""; });
for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
  document.addEventListener(name, event => {  // a file that misses the box must not replace the page
    event.preventDefault();
    $("drop").classList.toggle("over", name === "dragenter" || name === "dragover");
    if (name === "drop") take(event.dataTransfer.files[0]);
  });
}
$("target").addEventListener("change", () => { positive = ""; delete chosen[$("target").value]; changed(); });
$("groups").addEventListener("change", changed);
$("positive").addEventListener("change", () => { positive = $("positive").value; changed(); });
for (const id of ["model", "C", "level", "log"]) $(id).addEventListener("change", () => {
  $("stale").hidden = false;
  $("C-field").hidden = NO_C.includes($("model").value);
});
$("again").addEventListener("click", () => { say("file", `Reading ${fileName} ...`); changed(); });
$("filter").addEventListener("input", rows);
$("go").addEventListener("click", make);
$("stop").addEventListener("click", async () => {
  ++turn;
  busy(false);
  await post(`tabs/${tab}/stop`).catch(() => {});
  say("report", "Stopped.");
});
$("end").addEventListener("click", async () => { await post("end").catch(() => {}); theEnd(); });
for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy(button));
$("report").addEventListener("load", fit);
addEventListener("resize", fit);
addEventListener("pagehide", () => { if (tab && !ended) fetch(`tabs/${tab}/close`, {method: "POST", keepalive: true}); });
beat();
