#include "report/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/html.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::report {
namespace {

// Returns the CSS of the page. The three main colours differ for colour-blind readers, and in greyscale.
const char* get_style_sheet() {
    return R"css(
:root { color-scheme: light dark; --paper: #fff; --ink: #1c2430; --soft: #5a6675; --rule: #dde2e8;
        --c0: #1f66ad; --c1: #e08214; --c2: #9aa5b1; --good: #1b7f4b; --bad: #b3261e; --open: #8a6100; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181d; --ink: #e4e8ed; --soft: #9aa7b5; --rule: #2d353e;
          --c0: #6cb0f2; --c1: #f2a552; --c2: #66727f; --good: #5fcf95; --bad: #ff8a80; --open: #e5bd5c; }
}
@media print {
  :root { color-scheme: light; --paper: #fff; --ink: #000; --soft: #444; --rule: #ccc;
          --c0: #1f66ad; --c1: #e08214; --c2: #9aa5b1; --good: #1b7f4b; --bad: #b3261e; --open: #8a6100; }
  body { max-width: none; padding: 0; }
  figure, tr, h2 { break-inside: avoid; }
  h2 { break-after: avoid; }
}
* { box-sizing: border-box; }
body { max-width: 1020px; margin: 0 auto; padding: 28px 20px 48px; background: var(--paper); color: var(--ink);
       font: 15px/1.45 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { margin: 0; font-size: 27px; font-weight: 650; }
h2 { margin: 34px 0 10px; padding-bottom: 5px; border-bottom: 1px solid var(--rule); font-size: 18px; }
.facts { margin: 4px 0 14px; color: var(--soft); overflow-wrap: anywhere; }
.verdict { margin: 0; padding: 9px 14px; border: 1px solid; border-left-width: 5px; border-radius: 4px; }
.verdict b { margin-right: 6px; letter-spacing: .04em; }
.valid { color: var(--good); } .invalid { color: var(--bad); } .open { color: var(--open); }
.figures td, .machine td { overflow-wrap: anywhere; }
.trace svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 18px 5px 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
th { font-weight: 600; white-space: nowrap; }
.figures table { width: 100%; }
.figures tr > :nth-child(2), .figures tr > :nth-child(3) { text-align: right; white-space: nowrap; }
.figures tr > :nth-child(3) { padding-right: 26px; }
.figures td:last-child { width: 52%; min-width: 9em; padding-right: 0; color: var(--soft); }
.layout pre { margin: 0; padding: 2px 8px; border: 0; display: inline-block; }
.changes table { width: 100%; } .changes td:nth-child(2) { width: 55%; }

.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 22px 20px; }
figure { display: flex; flex-direction: column; min-width: 0; margin: 0; } figure.wide { grid-column: 1 / -1; }
figcaption { font-weight: 600; }
figure > svg { display: block; width: 100%; height: auto; margin-top: auto; }

.legend { display: flex; flex-wrap: wrap; gap: 2px 22px; margin: 2px 0 4px; color: var(--soft); font-size: 13px; }
.legend b { color: var(--ink); font-weight: 600; } .legend svg { vertical-align: -1px; }
svg { overflow: visible; } svg text { fill: var(--soft); font-size: 12px; font-variant-numeric: tabular-nums; }
@media (max-width: 640px) { figure.wide svg text { font-size: 19px; } }
.grid { stroke: var(--rule); } .axis, .tick { stroke: var(--soft); fill: none; }
.line, .faint { fill: none; stroke-linejoin: round; }
.line { stroke-width: 2; } .faint { stroke-width: 1; opacity: .45; }
.line.c0, .faint.c0 { stroke: var(--c0); } .line.c1, .faint.c1 { stroke: var(--c1); }
.event { fill: none; stroke-width: 1.5; } .event.e0 { stroke: var(--bad); } .event.e1 { stroke: var(--good); }
.event.e2 { stroke: var(--c1); } .event.e3 { stroke: var(--c2); }
.dot { stroke: var(--paper); stroke-width: 1.5; }
.dot.c0, .bar.c0 { fill: var(--c0); } .dot.c1, .bar.c1 { fill: var(--c1); } .bar.c2 { fill: var(--c2); }
.bar.c3 { fill: var(--good); } .bar.c4 { fill: var(--rule); }
summary { cursor: pointer; } code, pre { font: 13px/1.4 ui-monospace, Menlo, Consolas, monospace; }
pre { padding: 12px 14px; border: 1px solid var(--rule); border-radius: 4px; white-space: pre-wrap;
      overflow-wrap: anywhere; }
)css";
}

// Returns, for example, "gpt2-tiny on 2 ranks". Omits what the records lack.
std::string make_title(const RunRecords& records) {
    const records::Manifest manifest = records.manifest.value_or(records::Manifest{});
    const std::string model = manifest.model.empty() ? "A run of Trireme" : manifest.model;
    const auto ranks = static_cast<double>(manifest.hosts.size());
    return ranks > 0 ? cat(model, " on ", format_plural(ranks, "rank")) : model;
}

// Returns, for example, "2 stages x 1 replica x 1 tensor rank · schedule 1f1b · 8 samples a step in 4
// micro-batches · f32".
std::string describe_plan(const RunRecords& records) {
    const records::Manifest manifest = records.manifest.value_or(records::Manifest{});
    std::vector<std::string> facts;
    if (records.layout) facts.push_back(describe_grid(*records.layout));
    if (!manifest.schedule.empty()) facts.push_back("schedule " + manifest.schedule);
    if (manifest.batch > 0 && manifest.microbatches > 0)
        facts.push_back(cat(format_count(manifest.batch, "sample"), " a step in ",
                            format_count(manifest.microbatches, "micro-batch")));
    if (!manifest.dtype.empty()) {
        const bool accumulates_wider = !manifest.sums.empty() && manifest.sums != manifest.dtype;
        facts.push_back(
            cat(manifest.dtype, accumulates_wider ? ", sums and master weights in " + manifest.sums : ""));
    }
    return facts.empty()
               ? ""
               : make_element("p", escape_html(fmt::format("{}", fmt::join(facts, " · "))), "facts plan");
}

// Converts "2026-11-20T17:20:01Z" to "2026-11-20 17:20:01 UTC".
std::string format_date(std::string started) {
    if (started.size() != 20 || started[10] != 'T' || started.back() != 'Z') return started;
    started[10] = ' ';
    return started.replace(19, 1, " UTC");
}

// Returns, for example, "rank 3", "each rank in turn (5 steps each)" or "a random rank, redrawn every 5
// steps,".
std::string describe_slow_subject(const config::SlowRank& slow) {
    if (slow.choice == config::SlowChoice::named) return cat("rank ", slow.rank);
    const std::string steps = slow.every ? format_plural(static_cast<double>(*slow.every), "step") : "";
    if (slow.choice == config::SlowChoice::turn)
        return cat("each rank in turn (", slow.every ? steps : "an epoch", " each)");
    return cat("a random rank, redrawn every ", !slow.every ? "epoch" : *slow.every == 1 ? "step" : steps, ",");
}

std::string describe_slow_steps(const config::SlowRank& slow) {
    const std::string first = format_significant(static_cast<double>(slow.first_step));
    if (!slow.last_step) return cat("from step ", first, " on");
    if (*slow.last_step == slow.first_step) return cat("in step ", first);
    return cat("in steps ", first, " to ", format_significant(static_cast<double>(*slow.last_step)));
}

}  // namespace

std::string describe(const config::SlowRank& slow) {
    if (!slow.trace.empty()) return cat("ranks are slowed as ", slow.trace, " says");
    const bool slows_only_matmuls = slow.kernels == config::SlowKernels::matmuls;
    const std::string range =
        slow.highest_factor ? cat(" to ", format_significant(*slow.highest_factor)) : std::string();
    return cat(slows_only_matmuls ? "matmuls of " : "", describe_slow_subject(slow),
               slows_only_matmuls ? " take " : " takes ", format_significant(slow.factor), range,
               " times as long ", describe_slow_steps(slow));
}

namespace {

std::string describe_run(const RunRecords& records, const records::Summary& summary) {
    const records::Manifest manifest = records.manifest.value_or(records::Manifest{});
    std::string line = cat("run ", records.name);
    if (!manifest.started.empty()) line += cat(" · started ", format_date(manifest.started));
    if (manifest.parameters > 0)
        line += cat(" · ", format_with_commas(static_cast<double>(manifest.parameters)), " parameters");
    if (manifest.corpus) line += cat(" · corpus ", *manifest.corpus);
    if (!manifest.device.empty()) line += cat(" · ", manifest.device);
    for (const config::SlowRank& each : manifest.slow) line += cat(" · slowed on purpose: ", describe(each));
    if (!summary.clock.empty()) line += cat(" · ", summary.clock, " clock");
    return make_element("p", escape_html(line), "facts");
}

std::string describe_verdict(const RunRecords& records, const records::Summary& summary) {
    if (!records.summary) {
        const std::string steps = format_plural(static_cast<double>(records.steps.size()), "recorded step");
        return make_element(
            "p",
            cat("<b>UNFINISHED</b> This run is still running, or it stopped before its end: it has no ",
                "summary.json. The figures below are computed from its ", steps, "."),
            "verdict open");
    }
    if (summary.verdict.empty()) return "";
    const bool is_valid = summary.verdict == "VALID";
    std::string text = cat("<b>", escape_html(summary.verdict));
    if (is_valid && !summary.approximations.empty()) {
        text +=
            cat(", approximate:</b> ", escape_html(fmt::format("{}", fmt::join(summary.approximations, "; "))));
    } else {
        text += cat("</b>", summary.reason.empty() ? "" : " " + escape_html(summary.reason));
    }
    for (const std::string& remark : summary.remarks) text += "<br>" + escape_html(remark);
    return make_element("p", text, is_valid ? "verdict valid" : "verdict invalid");
}

// Returns `content`, which is HTML of CSS class `kind`, under the headline `title`; empty if `content` is
// empty.
std::string make_section(const char* title, const std::string& content, const char* kind = "") {
    if (content.empty()) return "";
    return make_element("section", cat(make_element("h2", title), make_element("div", "\n" + content, kind)));
}

std::string draw_charts(const RunRecords& records) {
    return draw_loss_chart(records) + draw_score_chart(records) + draw_speed_charts(records) +
           draw_step_charts(records) + draw_optimizer_charts(records);
}

std::string show_configuration(const RunRecords& records) {
    if (!records.config) return "";
    return cat("<details><summary>config.ini: every option with its value</summary>\n",
               make_element("pre", escape_html(*records.config)), "</details>\n");
}

std::string make_body(const RunRecords& records) {
    const records::Summary summary = records.summary.value_or(sum_up_steps(records.steps));
    const std::string head = make_element("h1", escape_html(make_title(records))) + describe_plan(records) +
                             describe_run(records, summary);
    const std::string bars = draw_time_bars(summary) + draw_rank_bars(records) + draw_padding_bars(summary) +
                             draw_memory_bars(summary);
    return make_element("header", head + describe_verdict(records, summary)) +
           make_section("Figures of merit", make_figures_table(summary), "figures") +
           make_section("Changes of plan", make_plan_changes_table(records), "changes") +
           make_section("Over the steps", draw_charts(records), "charts") +
           make_section("Time, tokens, memory", bars, "charts") +
           make_section("Timeline of the ranks", records.trace ? draw_trace(*records.trace) : "", "trace") +
           make_section("Machine and versions", records.manifest ? make_machine_table(*records.manifest) : "",
                        "machine") +
           make_section("Configuration", show_configuration(records));
}

}  // namespace

std::string make_page(const RunRecords& records) {
    return cat("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
               make_element("title", escape_html(make_title(records)) + " &ndash; Trireme"),
               make_element("style", get_style_sheet()), "</head>\n<body>\n", make_body(records),
               "</body>\n</html>\n");
}

}  // namespace trireme::report
