#include <algorithm>
#include <map>
#include <string_view>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {
namespace {

// The progress of a TeamProgram in one of the two stages of its team.
struct StageProgress {
    int stage = 0;
    bool keeps_gradient_in_team = false;     // no other team reads the input gradient of the stage
    std::map<Op, int> next_microbatch = {};  // per operation; counted within the pipeline replica
};

// Builds the program of one team. `teams_before` is the number of earlier teams in the pipeline replica.
class TeamProgram {
public:
    TeamProgram(const ReplicaGrid& grid, int replica, int teams_before)
        : first_microbatch_(replica * grid.microbatches_each),
          microbatches_(grid.microbatches_each),
          first_stage_{.stage = teams_before, .keeps_gradient_in_team = teams_before == 0},
          second_stage_{.stage = 2 * grid.pipe - 1 - teams_before,
                        .keeps_gradient_in_team = teams_before == grid.pipe - 1} {}

    // Appends the instructions of `letters`, in this order, `times` times. The letters f, i and w add a
    // forward, an input half and a weight half of the team's first stage; F, I and W add those of its second
    // stage. Each letter adds the next micro-batch of its operation and stage. Omits micro-batches that do not
    // exist.
    void append(int times, std::string_view letters) {
        for (int i = 0; i < times; ++i) {
            for (const char letter : letters) add(letter);
        }
    }
    Program take() { return std::move(program_); }

private:
    static Op parse_op(char letter) {
        if (letter == 'f' || letter == 'F') return Op::forward;
        return letter == 'i' || letter == 'I' ? Op::backward_input : Op::backward_weight;
    }

    void add(char letter) {
        StageProgress& progress = letter < 'a' ? second_stage_ : first_stage_;
        const Op op = parse_op(letter);
        const int microbatch = progress.next_microbatch[op]++;
        if (microbatch >= microbatches_) return;
        const Instruction input_half{Op::backward_input, progress.stage, first_microbatch_ + microbatch};
        // Adjacent halves of a backward are joined if no other team reads the gradient of the input half.
        if (op == Op::backward_weight && progress.keeps_gradient_in_team && program_.back() == input_half) {
            program_.back().op = Op::backward;
        } else {
            program_.push_back({op, progress.stage, first_microbatch_ + microbatch});
        }
    }

    int first_microbatch_;
    int microbatches_;
    StageProgress first_stage_;
    StageProgress second_stage_;
    Program program_;
};

Program make_zb_v_program(const ReplicaGrid& grid, int replica, int teams_before) {
    const int remaining_teams = grid.pipe - teams_before;  // this team and all later teams
    // The order is generated for this number of micro-batches. TeamProgram omits micro-batches that do not
    // exist.
    const int pattern_microbatches = std::max(2 * grid.pipe - 1, grid.microbatches_each);
    TeamProgram program(grid, replica, teams_before);
    program.append(2 * remaining_teams - 1, "f");
    program.append(teams_before, "Ff");
    program.append(remaining_teams, "FIW");
    program.append(pattern_microbatches - grid.pipe, "fiwFIW");
    program.append(teams_before, "iI");
    program.append(remaining_teams, "iw");
    program.append(teams_before, "W");
    program.append(teams_before, "w");
    return program.take();
}

}  // namespace

// ZB-V (Qi et al., 2024). The stages run from the first to the last team of a pipeline replica and back, so
// that the first team holds the first and the last stage. A team stores at most 2 * pipe activations. Each
// activation belongs to a stage with half the layers of a 1F1B stage. So a team needs the memory that the first
// team of 1F1B needs. No team waits between its first and its last instruction if forwards, input halves and
// weight halves take equal times and a replica has at least 2 * pipe - 1 micro-batches. With fewer
// micro-batches, the order is the one for 2 * pipe - 1 micro-batches, without the missing micro-batches.
//
// Example with 2 teams and 3 micro-batches. 2F0 is the forward of micro-batch 0 in stage 2. I and W are the
// halves of a backward (B and W in the paper). B is a backward that is not split, and takes two units of time.
//
//   team 0   0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0B0 ..  3F2 3I2 3W2 0B1 ..  0B2 ..
//   team 1       1F0 2F0 1F1 2F1 2B0 ..  1F2 1I0 1W0 2F2 2B1 ..  1I1 2I2 1I2 1W1 2W2 1W2
std::vector<Program> make_zb_v_programs(const ScheduleInput& input) {
    const ReplicaGrid& grid = input.grid;
    std::vector<Program> programs;
    for (int replica = 0; replica < grid.replicas; ++replica) {
        for (int teams_before = 0; teams_before < grid.pipe; ++teams_before)
            programs.push_back(make_zb_v_program(grid, replica, teams_before));
    }
    return programs;
}

std::optional<double> compute_zb_v_idle_time(const PipelineSizes& sizes, const StageCost& cost) {
    const bool are_costs_equal = cost.forward == cost.backward_input && cost.forward == cost.backward_weight;
    if (!are_costs_equal || sizes.microbatches < 2 * sizes.pipe - 1) return std::nullopt;
    return 0;
}

}  // namespace trireme::schedule
