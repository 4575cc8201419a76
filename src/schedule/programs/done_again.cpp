#include "schedule/programs/done_again.hpp"

namespace trireme {

WorkSet done_again(const std::vector<Program>& programs) {
    WorkSet again;
    for (const Program& program : programs) {
        bool may_go_back = false;
        for (const Instruction& instruction : program) {
            if (instruction.op == Op::step) may_go_back = true;
            if (instruction.op == Op::validate) may_go_back = false;
            if (may_go_back && has_micro_batch(instruction.op)) again.add(instruction);
        }
    }
    return again;
}

}  // namespace trireme
