// The page of a report and its sections: charts, tables, changes of plan, and a drawing of the trace.
#pragma once

#include <string>
#include <vector>

#include "report/run_records.hpp"
#include "report/trace_records.hpp"
#include "trireme/layout/layout.hpp"
#include "trireme/report/report.hpp"

namespace trireme::report {

// Returns a complete HTML file with style sheet and drawings.
std::string page(const RunRecords& records);

// Returns "rank 3 to take 4 times as long from step 100 to 200".
std::string describe(const config::SlowRank& slow);

// Sums up the steps as the final summary would. Omits figures that some step lacks, and the verdict.
records::Summary summary_so_far(const std::vector<records::StepLine>& steps);

// Return the charts of a report as HTML figures, or an empty text if the records have no data for them.
std::string loss_chart(const RunRecords& records);
std::string score_chart(const RunRecords& records);       // accuracy, or exact match and F1
std::string speed_charts(const RunRecords& records);      // tokens/s and MFU
std::string optimizer_charts(const RunRecords& records);  // gradient norm and learning rate

std::string time_bars(const records::Summary& summary);     // kernels, waiting for other ranks, the rest
std::string rank_bars(const RunRecords& records);           // the same, per rank
std::string padding_bars(const records::Summary& summary);  // tokens of samples, and padding
std::string memory_bars(const records::Summary& summary);   // predicted and measured growth

// Return the tables of a report in HTML.
std::string figures_table(const records::Summary& summary);    // figures of merit: value, limit, remark
std::string machine_table(const records::Manifest& manifest);  // empty if the manifest is

// Returns "2 stages x 3 replicas x 1 tensor rank", or "3 stages with 1, 2, 1 replicas" if
// the layout is not a grid.
std::string grid_text(const layout::Layout& layout);

// Returns one line per stage, as `trireme plan` prints it; for a large layout, grid_text().
std::string stages_text(const layout::Layout& layout);

// Returns a table with one row per change: the layouts before and after, and the gain by the median of the
// first steps after the change. Empty if the plan never changed.
std::string changes_table(const RunRecords& records);

// Returns the step to draw: the one after a change of plan, else the one after a
// checkpoint copy, else the last.
std::size_t shown_step(const RunTrace& trace);

// Returns the measured timeline of a step, in milliseconds from its first event. Rows are ranks in the order of
// their teams, then idle ranks.
Timeline measured(const RunTrace& trace, std::size_t step);

// Returns the predicted timeline of the plan's programs. Instructions take the mean measured time of their kind
// and stage; messages take no time. Requires plan.programs.
Timeline predicted(const TracedPlan& plan, const Timeline& measured);

// Returns the drawing and its description as HTML; empty if nothing was traced.
std::string drawn(const RunTrace& trace);

}  // namespace trireme::report
