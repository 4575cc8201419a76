// Any text is a schedule that can be planned, or it is refused with a ConfigError. A schedule that is not
// refused can be written and read back.
#include "fuzz/target.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/schedule_text.hpp"

namespace {

using namespace trireme;

constexpr std::size_t longest_planned = 400;  // bytes: proving longer ones takes the time of many inputs

void plan_programs(const schedule::Phases& phases, int pipe, int microbatches) {
    const layout::Grid grid{.pipe = pipe, .data = 1, .tensor = 1, .chunks = 1, .shares = {}};
    const std::vector<std::size_t> layers(static_cast<std::size_t>(pipe), 1);
    const plan::PlanWish wish{.layout = make_grid_layout(grid, layers),
                              .schedule = "the input",
                              .file_programs = phases,
                              .microbatches = microbatches};
    fuzz::read_or_refuse([&] { return make_plan(wish); },
                         [](const plan::Plan& made) {
                             fuzz::require(!made.training.programs.empty(), "a plan without programs");
                         });
}

}  // namespace

void trireme::fuzz::schedule(std::string_view bytes) {
    read_or_refuse([&] { return schedule::parse_phases_csv(bytes, "the input"); },
                   [&](const schedule::Phases& found) {
                       const schedule::Phases again = schedule::parse_phases_csv(to_csv(found), "again");
                       require(again.prologue == found.prologue && again.body == found.body,
                               "a schedule does not come back from its text");
                       if (bytes.size() > longest_planned) return;
                       const int teams = static_cast<int>(found.body.size());
                       if (teams <= 4) plan_programs(found, teams, 2);
                   });
}
