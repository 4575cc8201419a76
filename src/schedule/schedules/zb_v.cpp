#include <algorithm>
#include <map>
#include <string_view>

#include "schedule/schedules/generators.hpp"

namespace trireme::schedule {
namespace {

// One of the two stages of a team.
struct Leg {
    int stage = 0;
    bool gradient_stays = false;  // no other team waits for the gradient of a backward pass
    std::map<Op, int> next = {};  // next micro-batch per kind of work, counted within the row
};

class TeamProgram {
public:
    TeamProgram(const RegularShape& v, int row, int before)
        : first_(row * v.microbatches_each),
          count_(v.microbatches_each),
          down_{.stage = before, .gradient_stays = before == 0},
          up_{.stage = 2 * v.pipe - 1 - before, .gradient_stays = before == v.pipe - 1} {}

    // Adds instructions by their letters: lower case for the stage on the way down, upper case on the way back.
    void repeat(int times, std::string_view letters) {
        for (int i = 0; i < times; ++i) {
            for (const char letter : letters) add(letter);
        }
    }
    Program take() { return std::move(program_); }

private:
    static Op op_of(char letter) {
        if (letter == 'f' || letter == 'F') return Op::forward;
        return letter == 'i' || letter == 'I' ? Op::backward_input : Op::backward_weight;
    }

    void add(char letter) {
        Leg& leg = letter < 'a' ? up_ : down_;
        const Op op = op_of(letter);
        const int microbatch = leg.next[op]++;
        if (microbatch >= count_) return;
        const Instruction input{Op::backward_input, leg.stage, first_ + microbatch};
        if (op == Op::backward_weight && leg.gradient_stays && program_.back() == input) {
            program_.back().op = Op::backward;
        } else {
            program_.push_back({op, leg.stage, first_ + microbatch});
        }
    }

    int first_;
    int count_;
    Leg down_;
    Leg up_;
    Program program_;
};

Program zb_v_program(const RegularShape& v, int row, int before) {
    const int rest = v.pipe - before;  // teams from this one on
    const int all = std::max(2 * v.pipe - 1, v.microbatches_each);
    TeamProgram program(v, row, before);
    program.repeat(2 * rest - 1, "f");
    program.repeat(before, "Ff");
    program.repeat(rest, "FIW");
    program.repeat(all - v.pipe, "fiwFIW");
    program.repeat(before, "iI");
    program.repeat(rest, "iw");
    program.repeat(before, "W");
    program.repeat(before, "w");
    return program.take();
}

}  // namespace

// The model goes down the row and comes back, so that one team has its first and its last stage. Every team
// keeps as many activations as the first one of 1F1B (Qi et al., 2024). No team waits between its first and its
// last instruction if F, I and W cost the same and a row has 2 * pipe - 1 micro-batches. With fewer
// micro-batches the order is the same without the missing ones. Example with 2 teams and 3 micro-batches; cells
// name the stage.
//
//   team 0   0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0B0 ..  3F2 3I2 3W2 0B1 ..  0B2 ..
//   team 1       1F0 2F0 1F1 2F1 2B0 ..  1F2 1I0 1W0 2F2 2B1 ..  1I1 2I2 1I2 1W1 2W2 1W2
std::vector<Program> zb_v(const ScheduleInput& input) {
    const RegularShape& v = input.grid;
    std::vector<Program> programs;
    for (int row = 0; row < v.replicas; ++row) {
        for (int before = 0; before < v.pipe; ++before) programs.push_back(zb_v_program(v, row, before));
    }
    return programs;
}

std::optional<double> idle_of_zb_v(const EqualRow& row, const StageCost& cost) {
    const bool are_equal = cost.forward == cost.backward_input && cost.forward == cost.backward_weight;
    if (!are_equal || row.microbatches < 2 * row.pipe - 1) return std::nullopt;
    return 0;
}

}  // namespace trireme::schedule
