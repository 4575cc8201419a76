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
std::string make_page(const RunRecords& records);

// Describes an emulated slow rank; for example, "rank 3 takes 4 times as long in steps 100 to 200".
std::string describe(const config::SlowRank& slow);

// Makes the summary of an unfinished run from its steps. The verdict is unset. Losses are those of the steps
// that have a loss and were not skipped. Every other figure is unset if some step lacks it.
records::Summary sum_up_steps(const std::vector<records::StepLine>& steps);

// Return the charts of a report as HTML figures, or an empty text if the records have no data for them.
std::string draw_loss_chart(const RunRecords& records);
std::string draw_score_chart(const RunRecords& records);   // accuracy, or exact match and F1
std::string draw_speed_charts(const RunRecords& records);  // tokens/s and MFU
std::string draw_step_charts(const RunRecords& records);   // per step: measured and predicted seconds; tokens
std::string draw_optimizer_charts(const RunRecords& records);  // gradient norm and learning rate

std::string draw_time_bars(const records::Summary& summary);     // mean seconds in kernels, waiting, other
std::string draw_rank_bars(const RunRecords& records);           // per rank: seconds in kernels, waiting, other
std::string draw_padding_bars(const records::Summary& summary);  // tokens of samples, and padding
std::string draw_memory_bars(const records::Summary& summary);   // predicted memory, and measured growth

// Return the tables of a report in HTML.
std::string make_figures_table(const records::Summary& summary);    // figures of merit: value, limit, remark
std::string make_machine_table(const records::Manifest& manifest);  // program, device, hosts, model

// Returns, for example, "2 stages x 3 replicas x 1 tensor rank", or "3 stages with 1, 2, 1 replicas" if the
// layout is not a grid of equal teams.
std::string describe_grid(const layout::Layout& layout);

// Returns one line per stage, as `trireme plan` prints it. Returns describe_grid() instead if the stages
// together have more than 16 replicas.
std::string describe_stages(const layout::Layout& layout);

// Returns a table with one row per change of plan: the layouts before and after, the moved bytes, and the
// median time of at most ten steps after the change, compared with the step time before the change. Empty if
// the plan never changed.
std::string make_plan_changes_table(const RunRecords& records);

// Returns the traced step to draw. The function prefers the first step after a change of plan, then the first
// step after a checkpoint copy, then the last step.
std::size_t choose_drawn_step(const RunTrace& trace);

// Returns the measured timeline of a step, in milliseconds since its first event. There is one row per rank:
// the ranks of the teams in the order of the teams, then idle ranks.
Timeline make_measured_timeline(const RunTrace& trace, std::size_t step);

// Returns the predicted timeline of the plan's programs. An instruction takes the mean time that instructions
// of its kind and stage took in `measured`; messages take no time. plan.programs must not be empty.
Timeline make_predicted_timeline(const TracedPlan& plan, const Timeline& measured);

// Draws one traced step, as measured and as predicted, with a description, as HTML. Empty if nothing was
// traced.
std::string draw_trace(const RunTrace& trace);

}  // namespace trireme::report
