"use strict";
// Filters of the claims, kept in the address; pictures enlarged on demand. Without this the page
// is a plain table with all rows.
(() => {
  const form = document.getElementById("filters");
  const shown = document.getElementById("shown");
  const rows = [...document.querySelectorAll("table.claims-table tbody tr")];
  // the third is there only if claims were judged under two protocols
  const names = ["experiment", "verdict", "under", "q"].filter((name) => form.elements[name]);
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

  const fits = (row) => {
    const { experiment, verdict, under, q } = form.elements;
    const words = q.value.toLowerCase().split(/\s+/).filter(Boolean);
    return (
      (!experiment.value || row.dataset.experiment === experiment.value) &&
      (!verdict.value || row.dataset.verdict.split(" ").includes(verdict.value)) &&
      (!under || !under.value || row.dataset.under === under.value) &&
      words.every((word) => texts.get(row).includes(word))
    );
  };

  const apply = () => {
    let count = 0;
    for (const row of rows) {
      row.hidden = !fits(row);
      count += !row.hidden;
    }
    shown.textContent = `${count} of ${rows.length} claims`;
  };

  const write = () => {
    const kept = new URLSearchParams();
    for (const name of names) {
      if (form.elements[name].value) kept.set(name, form.elements[name].value);
    }
    history.replaceState(null, "", `#${kept.toString() || "claims"}`);
  };

  const read = () => {
    const hash = location.hash.slice(1);
    if (hash.includes("=")) {
      const kept = new URLSearchParams(hash);
      for (const name of names) form.elements[name].value = kept.get(name) ?? "";
      apply();
      document.getElementById("claims").scrollIntoView();
    } else if (hash.startsWith("claim-")) {
      // a claim that is asked for must not be hidden
      const row = document.getElementById(hash);
      if (row && row.hidden) {
        for (const name of names) form.elements[name].value = "";
        apply();
        row.scrollIntoView();
      }
    }
  };

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    apply();
    write();
  });
  form.addEventListener("reset", () => {
    // the fields are emptied after this event
    setTimeout(() => {
      apply();
      write();
    });
  });
  window.addEventListener("hashchange", read);
  apply();
  read();

  const large = document.getElementById("large");
  const picture = large.querySelector("img");
  for (const button of document.querySelectorAll("button.zoom")) {
    button.addEventListener("click", () => {
      const small = button.querySelector("img");
      picture.src = small.src;
      picture.alt = small.alt;
      large.showModal();
    });
  }
  large.addEventListener("click", (event) => {
    if (event.target !== picture) large.close();
  });

  window.addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details")) one.open = true;
  });
})();
