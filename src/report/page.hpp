// The page of a report and its sections: charts, tables, changes of plan and a drawing of the trace.
#pragma once

#include <string>
#include <vector>

#include "report/run_records.hpp"
#include "report/trace_records.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/report/report.hpp"

namespace trireme::report {

// A whole HTML file, style sheet and drawings included.
std::string page(const RunRecords& records);

// "rank 3 to take 4 times as long from step 100 to 200"
std::string describe(const config::SlowRank& slow);

// Adds up the steps as the summary would. A figure that some step does not say is left out; there is no
// verdict.
records::Summary summary_so_far(const std::vector<records::StepLine>& steps);

// The drawings of a report, each a figure in HTML, or empty where the records hold nothing for it.
std::string loss_chart(const RunRecords& records);
std::string score_chart(const RunRecords& records);       // accuracy, or exact match and F1
std::string speed_charts(const RunRecords& records);      // tokens/s and MFU
std::string optimizer_charts(const RunRecords& records);  // gradient norm and learning rate

std::string time_bars(const records::Summary& summary);     // kernels, waiting for other ranks, the rest
std::string rank_bars(const RunRecords& records);           // the same for each rank
std::string padding_bars(const records::Summary& summary);  // tokens of samples, padding
std::string memory_bars(const records::Summary& summary);   // predicted, grown

// The tables of a report, in HTML.
std::string figures_table(const records::Summary& summary);    // of merit: value, limit, remark
std::string machine_table(const records::Manifest& manifest);  // empty where the manifest is

// "2 stages x 3 replicas x 1 tensor rank"; of a layout that is no grid, "3 stages with 1, 2, 1 replicas".
std::string grid_text(const layout::Layout& layout);

// Every stage on a line, as `trireme plan` prints it; of a large layout grid_text().
std::string stages_text(const layout::Layout& layout);

// The table has a row for each change: the layouts before and after, and the gain by the median of the first
// steps after the change. It is empty if the plan never changed.
std::string changes_table(const RunRecords& records);

// That of the steps which has most to show: behind a change of plan, else beside a checkpoint, else the last.
std::size_t shown_step(const RunTrace& trace);

// As it was measured, time in milliseconds from its first event on: ranks in the order of their teams, idle
// ones behind them.
Timeline measured(const RunTrace& trace, std::size_t step);

// Its programs, with the mean time of each kind of instruction of each stage, and messages that take none.
// Only where the step stands by itself.
Timeline predicted(const TracedPlan& plan, const Timeline& measured);

// HTML: picture and words; empty where nothing was traced.
std::string drawn(const RunTrace& trace);

}  // namespace trireme::report
