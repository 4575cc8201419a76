#include "report/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/charts.hpp"
#include "report/html.hpp"
#include "report/layout_text.hpp"
#include "report/number_text.hpp"
#include "report/plan_changes.hpp"
#include "report/style.hpp"
#include "report/summary_so_far.hpp"
#include "report/tables.hpp"
#include "report/trace_drawing.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::report {
namespace {

// "gpt2-tiny on 2 ranks", as far as it is known.
std::string title_of(const RunRecords& records) {
    const Manifest manifest = records.manifest.value_or(Manifest{});
    const std::string model = manifest.model.value_or("A run of Trireme");
    return manifest.ranks ? cat(model, " on ", plural(*manifest.ranks, "rank")) : model;
}

// "2 stages x 1 replica x 1 tensor rank · schedule 1f1b · 8 samples in 4 micro-batches · f32"
std::string plan_facts(const RunRecords& records) {
    const Manifest manifest = records.manifest.value_or(Manifest{});
    std::vector<std::string> facts;
    if (manifest.layout) facts.push_back(grid_text(*manifest.layout));
    if (manifest.schedule) facts.push_back("schedule " + *manifest.schedule);
    const auto count = [](Figure number) { return static_cast<std::size_t>(number.value_or(0)); };
    if (manifest.batch && manifest.microbatches)
        facts.push_back(cat(counted(count(manifest.batch), "sample"), " a step in ",
                            counted(count(manifest.microbatches), "micro-batch")));
    if (manifest.dtype) {
        const bool is_wider = manifest.sums.value_or(*manifest.dtype) != *manifest.dtype;
        facts.push_back(cat(*manifest.dtype, is_wider ? ", sums and weights in " + *manifest.sums : ""));
    }
    return facts.empty() ? "" : element("p", escaped(fmt::format("{}", fmt::join(facts, " · "))), "facts plan");
}

// "2026-11-20T17:20:01Z" as "2026-11-20 17:20:01 UTC".
std::string date_text(std::string started) {
    if (started.size() != 20 || started[10] != 'T' || started.back() != 'Z') return started;
    started[10] = ' ';
    return started.replace(19, 1, " UTC");
}

std::string facts(const RunRecords& records, const Summary& summary) {
    const Manifest manifest = records.manifest.value_or(Manifest{});
    std::string line = cat("run ", records.name);
    if (manifest.started) line += cat(" · started ", date_text(*manifest.started));
    if (manifest.parameters) line += cat(" · ", with_commas(*manifest.parameters), " parameters");
    if (manifest.corpus) line += cat(" · corpus ", *manifest.corpus);
    if (manifest.device) line += cat(" · ", *manifest.device);
    for (const std::string& each : manifest.slowed) line += cat(" · made slow: ", each);
    if (summary.clock) line += cat(" · ", *summary.clock, " clock");
    return element("p", escaped(line), "facts");
}

std::string verdict(const RunRecords& records, const Summary& summary) {
    if (!summary.is_final) {
        const std::string done = plural(static_cast<double>(records.steps.size()), "step");
        return element(
            "p",
            cat("<b>UNFINISHED</b> This run is still going on, or was stopped before its end: it has no ",
                "summary.json. What follows is added up from the ", done, " on record."),
            "verdict open");
    }
    if (!summary.verdict) return "";
    const bool is_valid = *summary.verdict == "VALID";
    std::string text = cat("<b>", escaped(*summary.verdict));
    if (is_valid && !summary.approximations.empty()) {
        text += cat(", approximate:</b> ", escaped(fmt::format("{}", fmt::join(summary.approximations, "; "))));
    } else {
        text += cat("</b>", summary.reason ? " " + escaped(*summary.reason) : "");
    }
    for (const std::string& remark : summary.remarks) text += "<br>" + escaped(remark);
    return element("p", text, is_valid ? "verdict valid" : "verdict invalid");
}

// Nothing where there is nothing to show.
std::string section(const char* title, const std::string& content, const char* kind = "") {
    if (content.empty()) return "";
    return element("section", cat(element("h2", title), element("div", "\n" + content, kind)));
}

std::string charts(const RunRecords& records) {
    return loss_chart(records) + score_chart(records) + speed_charts(records) + optimizer_charts(records);
}

std::string configuration(const RunRecords& records) {
    if (!records.config) return "";
    return cat("<details><summary>config.ini: every option with its value</summary>\n",
               element("pre", escaped(*records.config)), "</details>\n");
}

std::string body(const RunRecords& records) {
    const Summary summary = records.summary.value_or(summary_so_far(records.steps));
    const std::string head =
        element("h1", escaped(title_of(records))) + plan_facts(records) + facts(records, summary);
    const std::string bars =
        time_bars(summary) + rank_bars(records) + padding_bars(summary) + memory_bars(summary);
    return element("header", head + verdict(records, summary)) +
           section("Figures of merit", figures_table(summary), "figures") +
           section("Changes of plan", changes_table(records), "changes") +
           section("Over the steps", charts(records), "charts") +
           section("Time, tokens, memory", bars, "charts") +
           section("What each rank did when", records.trace ? drawn(*records.trace) : "", "trace") +
           section("Machine and versions", records.manifest ? machine_table(*records.manifest) : "",
                   "machine") +
           section("Configuration", configuration(records));
}

}  // namespace

std::string page(const RunRecords& records) {
    return cat("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
               element("title", escaped(title_of(records)) + " &ndash; Trireme"),
               element("style", style_sheet()), "</head>\n<body>\n", body(records), "</body>\n</html>\n");
}

}  // namespace trireme::report
