#include "ranks/pipeline/trials.hpp"

#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/lower.hpp"

namespace trireme::pipeline {
namespace {

using Sizes = std::vector<int>;

// Consecutive micro-batches have different numbers of rows, so that message lengths distinguish them.
std::vector<std::size_t> make_distinct_rows(const schedule::PipelineShape& shape) {
    std::vector<std::size_t> rows;
    for (int m = 0; m < shape.microbatches; ++m) rows.push_back(1 + static_cast<std::size_t>(m * 5 % 7));
    return rows;
}

Trial trial_of(const std::string& schedule, const schedule::PipelineShape& shape) {
    return {.schedule = schedule::require_schedule(schedule),
            .shape = shape,
            .teams = make_teams(Sizes(static_cast<std::size_t>(shape.teams), 1)),
            .rows = make_distinct_rows(shape)};
}

Trial make_team_trial(const Sizes& sizes, bool are_rows_cut) {
    Trial trial = trial_of("1f1b", schedule::make_grid_shape(static_cast<int>(sizes.size()), 1, 1, 5));
    trial.teams = make_teams(sizes);
    trial.are_rows_cut = are_rows_cut;
    return trial;
}

schedule::Program divided(const schedule::Program& program) {
    schedule::Program halves;
    schedule::Program weights;  // weight halves that wait for the next input half
    for (const schedule::Instruction& each : program) {
        halves.push_back(each);
        if (each.op != schedule::Op::backward) continue;
        halves.back().op = schedule::Op::backward_input;
        halves.insert(halves.end(), weights.begin(), weights.end());
        weights = {{schedule::Op::backward_weight, each.stage, each.microbatch}};
    }
    halves.insert(halves.end(), weights.begin(), weights.end());
    return halves;
}

}  // namespace

int Trial::ranks() const {
    int sum = 0;
    for (const layout::Team& team : teams) sum += static_cast<int>(team.ranks.size());
    return sum;
}

std::string Trial::name() const {
    std::string text = cat(schedule.name, ", ", shape.stages(), " stages, replicas");
    for (const std::vector<int>& holders : shape.holders) text += cat(' ', holders.size());
    text += cat(", ", shape.microbatches, " micro-batches, teams of");
    for (const layout::Team& team : teams) text += cat(' ', team.ranks.size());
    return text + (are_rows_cut ? ", rows cut" : "") + (halves_backward ? ", I and W" : "");
}

TrialPrograms prove(const Trial& trial, bool is_training) {
    TrialPrograms result{trial.shape, {}};
    result.shape.is_training = is_training;
    std::vector<schedule::Program> compute = generate(trial.schedule, result.shape);
    if (trial.halves_backward) {
        for (schedule::Program& program : compute) program = divided(program);
    }
    std::string fault;
    for (result.shape.slots = 1; result.shape.slots <= 8; ++result.shape.slots) {
        result.programs = lower(compute, result.shape);
        const schedule::Verdict verdict = verify_programs(result.programs, result.shape);
        if (verdict.is_proved()) return result;
        fault = verdict.fault->what;
    }
    throw BugError(cat(trial.name(), ": ", fault));
}

std::vector<layout::Team> make_teams(const Sizes& sizes) {
    std::vector<layout::Team> teams;
    int rank = 0;
    for (const int size : sizes) {
        layout::Team& team = teams.emplace_back();
        for (int r = 0; r < size; ++r) team.ranks.push_back(rank++);
    }
    return teams;
}

std::vector<Trial> every_schedule() {
    std::vector<Trial> trials;
    for (const char* const kind : {"inter-layer", "gpipe", "1f1b"}) {
        for (const int pipe : {1, 2, 3, 4, 8})
            trials.push_back(trial_of(kind, schedule::make_grid_shape(pipe, 1, 1, 6)));
        trials.push_back(trial_of(kind, schedule::make_grid_shape(2, 2, 1, 3)));
        trials.push_back(trial_of(kind, schedule::make_grid_shape(4, 2, 1, 5)));
    }
    for (const char* const kind : {"zb-h1", "zb-h2"}) {
        for (const int pipe : {2, 4, 8})
            trials.push_back(trial_of(kind, schedule::make_grid_shape(pipe, 1, 1, 7)));
        trials.push_back(trial_of(kind, schedule::make_grid_shape(4, 2, 1, 5)));
    }
    for (const int pipe : {1, 2, 3, 4, 8})
        trials.push_back(trial_of("zb-v", schedule::make_v_shape(pipe, 1, 6)));
    trials.push_back(trial_of("zb-v", schedule::make_v_shape(4, 2, 7)));
    for (const char* const kind : {"interleaved", "looped-bfs"}) {
        trials.push_back(trial_of(kind, schedule::make_grid_shape(1, 1, 3, 4)));
        trials.push_back(trial_of(kind, schedule::make_grid_shape(2, 1, 2, 4)));
        trials.push_back(trial_of(kind, schedule::make_grid_shape(2, 2, 3, 4)));
        trials.push_back(trial_of(kind, schedule::make_grid_shape(3, 1, 2, 7)));
        trials.push_back(trial_of(kind, schedule::make_grid_shape(4, 2, 2, 3)));
    }
    return trials;
}

std::vector<Trial> uneven_replicas() {
    std::vector<Trial> trials;
    for (const char* const kind : {"gpipe", "1f1b"}) {
        for (const Sizes& replicas : {Sizes{2, 1}, {1, 2}, {1, 2, 1}, {2, 3}, {3, 3, 2}}) {
            trials.push_back(trial_of(kind, schedule::make_uneven_shape(replicas, 12)));
        }
    }
    return trials;
}

std::vector<Trial> find_teams_of_ranks() {
    std::vector<Trial> trials;
    for (const bool are_rows_cut : {false, true}) {
        for (const Sizes& sizes :
             {Sizes{3}, {2, 1}, {1, 2}, {2, 2}, {1, 3}, {3, 1}, {2, 1, 1}, {3, 2, 3}, {3, 5}, {5, 3}}) {
            trials.push_back(make_team_trial(sizes, are_rows_cut));
        }
        Trial alternating = make_team_trial({2, 2}, are_rows_cut);
        alternating.teams = {layout::Team{.ranks = {0, 2}, .stages = {}},
                             layout::Team{.ranks = {1, 3}, .stages = {}}};
        trials.push_back(alternating);
        Trial chunks = trial_of("interleaved", schedule::make_grid_shape(2, 1, 2, 4));
        chunks.teams = make_teams({3, 1});
        chunks.are_rows_cut = are_rows_cut;
        trials.push_back(chunks);
    }
    return trials;
}

std::vector<Trial> empty_and_large() {
    Trial some_empty = trial_of("1f1b", schedule::make_grid_shape(2, 1, 1, 5));
    some_empty.rows = {0, 2, 0, 1, 0};
    Trial all_empty = trial_of("gpipe", schedule::make_grid_shape(2, 1, 1, 3));
    all_empty.rows = {0, 0, 0};
    Trial empty_replica = trial_of("1f1b", schedule::make_uneven_shape({2, 1}, 4));
    empty_replica.rows = {3, 0, 2, 0};
    std::vector<Trial> trials{some_empty, all_empty, empty_replica};
    for (const char* const kind : {"inter-layer", "gpipe", "1f1b"}) {
        Trial large = trial_of(kind, schedule::make_grid_shape(3, 1, 1, 4));
        large.width = 20'000;
        trials.push_back(large);
    }
    return trials;
}

std::vector<Trial> split_backward_trials() {
    std::vector<Trial> trials{trial_of("1f1b", schedule::make_grid_shape(2, 1, 1, 5)),
                              trial_of("gpipe", schedule::make_grid_shape(3, 1, 1, 4)),
                              trial_of("interleaved", schedule::make_grid_shape(2, 1, 2, 4)),
                              trial_of("1f1b", schedule::make_uneven_shape({3, 3, 2}, 12)),
                              make_team_trial({1, 2}, true)};
    for (Trial& trial : trials) trial.halves_backward = true;
    return trials;
}

}  // namespace trireme::pipeline
