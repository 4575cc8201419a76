#include "unit/schedule/program_damage.hpp"

#include <iterator>
#include <utility>

namespace trireme {
namespace {

enum class Damage { erase, duplicate, retarget, swap, cross, move };

struct Spot {
    std::size_t team = 0;
    std::size_t position = 0;
};

Spot any_spot(const std::vector<Program>& programs, Draw& draw) {
    std::size_t count = 0;
    for (const Program& program : programs) count += program.size();
    Spot spot{0, draw.below(count)};
    while (spot.position >= programs[spot.team].size()) spot.position -= programs[spot.team++].size();
    return spot;
}

Program::iterator at(Program& program, std::size_t position) {
    return std::next(program.begin(), static_cast<std::ptrdiff_t>(position));
}

std::string erase(std::vector<Program>& programs, Draw& draw) {
    const auto [team, position] = any_spot(programs, draw);
    const std::string name = text_of(programs[team][position]);
    programs[team].erase(at(programs[team], position));
    return "erase " + name;
}

std::string duplicate(std::vector<Program>& programs, Draw& draw) {
    const auto [team, position] = any_spot(programs, draw);
    const Instruction copy = programs[team][position];
    const std::size_t place = draw.one_in(2) ? position : draw.below(programs[team].size() + 1);
    programs[team].insert(at(programs[team], place), copy);
    return "duplicate " + text_of(copy);
}

std::string retarget(std::vector<Program>& programs, const PipelineShape& shape, Draw& draw) {
    const auto [team, position] = any_spot(programs, draw);
    Instruction& instruction = programs[team][position];
    const Instruction before = instruction;
    while (instruction == before) {
        if (has_micro_batch(before.op) && draw.one_in(2)) {
            instruction.micro_batch = draw.within(0, shape.micro_batches);
        } else {
            instruction.stage = draw.within(0, shape.stages());
        }
    }
    return "retarget " + text_of(before) + " to " + text_of(instruction);
}

// Empty where a program has no second instruction.
std::string swap(std::vector<Program>& programs, Draw& draw) {
    const auto [team, position] = any_spot(programs, draw);
    Program& program = programs[team];
    const std::size_t other = draw.one_in(3) ? draw.below(program.size()) : (position + 1) % program.size();
    if (program[other] == program[position]) return "";
    std::swap(program[other], program[position]);
    return "swap " + text_of(program[other]) + " and " + text_of(program[position]);
}

bool is_message(Op op) { return !is_compute(op) && has_micro_batch(op); }

// The team at the other end; -1 where nobody is there, as after a damage.
int peer_of(const Instruction& message, const PipelineShape& shape) {
    const bool is_up = message.op == Op::send_forward || message.op == Op::receive_backward;
    const int stage = message.stage + (is_up ? 1 : -1);
    const bool exists = stage >= 0 && stage < shape.stages() && message.micro_batch < shape.micro_batches;
    return exists ? shape.executor_of(stage, message.micro_batch) : -1;
}

// The messages of the program that share the channel of one of them, and so may be exchanged with it.
std::vector<std::size_t> companions_of(std::size_t hit, const Program& program, const PipelineShape& shape) {
    std::vector<std::size_t> companions;
    if (!is_message(program[hit].op)) return companions;
    const int peer = peer_of(program[hit], shape);
    for (std::size_t other = 0; other < program.size(); ++other) {
        const bool shares_channel =
            program[other].op == program[hit].op && peer_of(program[other], shape) == peer;
        if (shares_channel && program[other] != program[hit]) companions.push_back(other);
    }
    return companions;
}

// Empty where no channel was found that carries two messages.
std::string cross(std::vector<Program>& programs, const PipelineShape& shape, Draw& draw) {
    constexpr int tries = 50;
    for (int i = 0; i < tries; ++i) {
        const auto [team, position] = any_spot(programs, draw);
        Program& program = programs[team];
        const std::vector<std::size_t> companions = companions_of(position, program, shape);
        if (companions.empty()) continue;
        const std::size_t companion = companions[draw.below(companions.size())];
        std::swap(program[position], program[companion]);
        return "cross " + text_of(program[companion]) + " and " + text_of(program[position]);
    }
    return "";
}

// Where a moved instruction comes to stand: near the place where it stood, or anywhere.
std::size_t new_place(std::size_t position, std::size_t length, Draw& draw) {
    const std::size_t near = position + draw.below(7);
    return draw.one_in(3) || near < 3 || near > length + 3 ? draw.below(length + 1) : near - 3;
}

// Empty where it came to stand where it stood.
std::string move(std::vector<Program>& programs, Draw& draw) {
    const std::vector<Program> before = programs;
    const auto [team, position] = any_spot(programs, draw);
    const Instruction moved = programs[team][position];
    programs[team].erase(at(programs[team], position));
    const std::size_t to = draw.one_in(8) ? draw.below(programs.size()) : team;
    programs[to].insert(at(programs[to], new_place(position, programs[to].size(), draw)), moved);
    if (programs == before) return "";
    return "move " + text_of(moved) + " of team " + std::to_string(team) + " into team " + std::to_string(to);
}

std::string damage(Damage kind, std::vector<Program>& programs, const PipelineShape& shape, Draw& draw) {
    switch (kind) {
        case Damage::erase:
            return erase(programs, draw);
        case Damage::duplicate:
            return duplicate(programs, draw);
        case Damage::retarget:
            return retarget(programs, shape, draw);
        case Damage::swap:
            return swap(programs, draw);
        case Damage::cross:
            return cross(programs, shape, draw);
        case Damage::move:
            return move(programs, draw);
    }
    return "";
}

}  // namespace

std::string damage_once(std::vector<Program>& programs, const PipelineShape& shape, Draw& draw) {
    // Those that may leave programs sound are drawn more often: nearly all others are rejected as written.
    constexpr Damage kinds[] = {Damage::erase, Damage::duplicate, Damage::retarget, Damage::cross,
                                Damage::swap,  Damage::swap,      Damage::swap,     Damage::swap,
                                Damage::move,  Damage::move,      Damage::move,     Damage::move};
    while (true) {
        const Damage kind = kinds[draw.below(std::size(kinds))];
        if (std::string words = damage(kind, programs, shape, draw); !words.empty()) return words;
    }
}

}  // namespace trireme
