for (const chart of document.querySelectorAll("svg.chart")) {
  const marks = [...chart.querySelectorAll(".mark")];
  const line = chart.parentElement.querySelector(".value");
  let chosen = -1;
  const choose = (index) => {
    marks[chosen]?.classList.remove("chosen");
    chosen = index;
    marks[chosen]?.classList.add("chosen");
    line.textContent = marks[chosen]?.querySelector("title").textContent ?? "";
  };
  chart.addEventListener("focus", () => {
    if (chosen < 0 && marks.length && chart.matches(":focus-visible")) line.textContent = "Arrow keys step through the values.";
  });
  chart.addEventListener("blur", () => choose(-1));
  chart.addEventListener("keydown", (event) => {
    const last = marks.length - 1;
    const next = { ArrowRight: Math.min(chosen + 1, last), ArrowLeft: Math.max(chosen - 1, 0), Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
  });
  const nearest = (event) => {
    const index = marks.indexOf(event.target.closest(".mark"));
    if (index >= 0) choose(index);
  };
  chart.addEventListener("pointerover", nearest);
  chart.addEventListener("click", nearest);
}
