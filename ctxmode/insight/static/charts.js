// Draws a page's charts by day from the numbers in the tables next to them. Without this script each
// chart is a static picture.
"use strict";
(() => {
  const DAY_S = 86400;
  const HEIGHT_PX = 230;
  const BYTES = [1, 2, 5].flatMap((step) => [0, 10, 20, 30].flatMap((power) => [1, 10, 100].map((ten) => step * ten * 2 ** power))).sort((a, b) => a - b);
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const words = (value, unit) => {
    if (value === null || value === undefined) return "";
    if (unit !== "size") {
      return Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);
    }
    let amount = value;
    for (const name of ["B", "KB", "MB", "GB"]) {
      if (Math.abs(amount) < 1024 || name === "GB") {
        return `${amount.toFixed(name === "B" || Number.isInteger(amount) ? 0 : 1)} ${name}`;
      }
      amount /= 1024;
    }
    return "";
  };

  const day = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);

  // The numbers of a table, oldest day first: days in seconds, then each series.
  const read = (table) => {
    const names = [...table.tHead.rows[0].cells].slice(1).map((cell) => cell.textContent);
    const rows = [...table.tBodies[0].rows].reverse();
    const numbers = rows.map((row) => [...row.cells].map((cell) => Number(cell.dataset.value)));
    const days = numbers.map((row) => row[0] * DAY_S);
    return { names, days, series: names.map((_, place) => numbers.map((row) => row[place + 1])) };
  };

  const draw = (figure) => {
    const plot = figure.querySelector(".plot");
    const readout = figure.querySelector(".readout");
    const unit = figure.dataset.chart;
    const said = readout.textContent;
    const { names, days, series } = read(figure.parentElement.querySelector("table"));
    // Series are stacked; the highest is drawn first, the others over it.
    let below = days.map(() => 0);
    const stacked = series.map((values) => (below = values.map((value, at) => value + below[at])));
    const order = names.map((_, place) => place).reverse();
    const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
    const font = "12px system-ui, sans-serif";
    const chart = new uPlot(
      {
        width: plot.clientWidth,
        height: HEIGHT_PX,
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
        scales: { x: { range: (_, low, high) => [low - DAY_S / 2, high + DAY_S / 2] }, y: { range: (_, __, high) => [0, high || 1] } },
        axes: [
          { ...axis, font, grid: { show: false }, size: 28, values: (_, at) => at.map((one) => day(one).slice(5)), space: 64 },
          { ...axis, font, size: 68, ...(unit === "size" ? { incrs: BYTES } : {}), values: (_, at) => at.map((one) => words(one, unit)) },
        ],
        series: [
          {},
          ...order.map((place) => ({
            label: names[place],
            fill: color(`--c${place}`),
            width: 0,
            points: { show: false },
            paths: uPlot.paths.bars({ size: [0.75, 48] }),
          })),
        ],
        hooks: {
          setCursor: [
            (self) => {
              const at = self.cursor.idx;
              if (at === null || at === undefined || self.cursor.left < 0) {
                readout.textContent = said;
                return;
              }
              const each = names.map((name, place) => `${name} ${words(series[place][at], unit)}`);
              readout.textContent = `${day(days[at])}: ${each.join(", ")}`;
            },
          ],
        },
      },
      [days, ...order.map((place) => stacked[place])],
      plot,
    );
    plot.classList.add("live");
    return chart;
  };

  const figures = [...document.querySelectorAll("figure[data-chart]")];
  let charts = figures.map(draw);
  dark.addEventListener("change", () => {
    charts.forEach((chart) => chart.destroy());
    charts = figures.map(draw);
  });
  addEventListener("resize", () => {
    charts.forEach((chart, at) => {
      const width = figures[at].querySelector(".plot").clientWidth;
      chart.setSize({ width, height: HEIGHT_PX });
    });
  });
})();
