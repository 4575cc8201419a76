#include "unit/schedule/program_damage.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace trireme::schedule {
namespace {

enum class Damage { erase, duplicate, retarget, swap, cross, move, age, update };

struct Spot {
    std::size_t team = 0;
    std::size_t position = 0;
};

Spot draw_position(const std::vector<Program>& programs, Draw& draw) {
    std::size_t count = 0;
    for (const Program& program : programs) count += program.size();
    Spot spot{0, draw.below(count)};
    while (spot.position >= programs[spot.team].size()) spot.position -= programs[spot.team++].size();
    return spot;
}

Program::iterator at(Program& program, std::size_t position) {
    return std::next(program.begin(), static_cast<std::ptrdiff_t>(position));
}

// Returns the position of a random wanted instruction; empty if there is none.
template <class IsWanted>
std::optional<Spot> draw_position_where(const IsWanted& is_wanted, const std::vector<Program>& programs,
                                        Draw& draw) {
    std::vector<Spot> spots;
    for (std::size_t team = 0; team < programs.size(); ++team) {
        for (std::size_t position = 0; position < programs[team].size(); ++position) {
            if (is_wanted(programs[team][position])) spots.push_back({team, position});
        }
    }
    if (spots.empty()) return std::nullopt;
    return spots[draw.below(spots.size())];
}

std::string erase(std::vector<Program>& programs, const Spot& spot) {
    const auto [team, position] = spot;
    const std::string name = to_string(programs[team][position]);
    programs[team].erase(at(programs[team], position));
    return "erase " + name;
}

std::string duplicate(std::vector<Program>& programs, const Spot& spot, Draw& draw) {
    const auto [team, position] = spot;
    const Instruction copy = programs[team][position];
    const std::size_t place = draw.one_in(2) ? position : draw.below(programs[team].size() + 1);
    programs[team].insert(at(programs[team], place), copy);
    return "duplicate " + to_string(copy);
}

std::string retarget(std::vector<Program>& programs, const PipelineShape& shape, Draw& draw) {
    const auto [team, position] = draw_position(programs, draw);
    Instruction& instruction = programs[team][position];
    const Instruction before = instruction;
    while (instruction == before) {
        if (has_microbatch(before.op) && draw.one_in(2)) {
            instruction.microbatch = draw.within(0, shape.count_microbatches());
        } else {
            instruction.stage = draw.within(0, shape.stages());
        }
    }
    return "retarget " + to_string(before) + " to " + to_string(instruction);
}

// Returns an empty string if the program has no second instruction.
std::string swap(std::vector<Program>& programs, Draw& draw) {
    const auto [team, position] = draw_position(programs, draw);
    Program& program = programs[team];
    const std::size_t other = draw.one_in(3) ? draw.below(program.size()) : (position + 1) % program.size();
    if (program[other] == program[position]) return "";
    std::swap(program[other], program[position]);
    return "swap " + to_string(program[other]) + " and " + to_string(program[position]);
}

bool is_message(Op op) { return !is_compute(op) && has_microbatch(op); }

// Returns the team at the other end, or -1 if there is none, which is possible after a damage.
int find_peer(const Instruction& message, const PipelineShape& shape) {
    const bool is_up = message.op == Op::send_forward || message.op == Op::receive_backward;
    const int stage = message.stage + (is_up ? 1 : -1);
    const bool exists = stage >= 0 && stage < shape.stages() && message.microbatch < shape.count_microbatches();
    return exists ? shape.find_executor(stage, message.microbatch) : -1;
}

// Returns the messages of the program that share the channel of one of them, and so may be exchanged with it.
std::vector<std::size_t> find_channel_companions(std::size_t hit, const Program& program,
                                                 const PipelineShape& shape) {
    std::vector<std::size_t> companions;
    if (!is_message(program[hit].op)) return companions;
    const int peer = find_peer(program[hit], shape);
    for (std::size_t other = 0; other < program.size(); ++other) {
        const bool shares_channel =
            program[other].op == program[hit].op && find_peer(program[other], shape) == peer;
        if (shares_channel && program[other] != program[hit]) companions.push_back(other);
    }
    return companions;
}

// Returns an empty string if no channel was found that carries two messages.
std::string cross(std::vector<Program>& programs, const PipelineShape& shape, Draw& draw) {
    constexpr int tries = 50;
    for (int i = 0; i < tries; ++i) {
        const auto [team, position] = draw_position(programs, draw);
        Program& program = programs[team];
        const std::vector<std::size_t> companions = find_channel_companions(position, program, shape);
        if (companions.empty()) continue;
        const std::size_t companion = companions[draw.below(companions.size())];
        std::swap(program[position], program[companion]);
        return "cross " + to_string(program[companion]) + " and " + to_string(program[position]);
    }
    return "";
}

// Returns the new position of a moved instruction: near the old position, or anywhere.
std::size_t draw_new_position(std::size_t position, std::size_t length, Draw& draw) {
    const std::size_t near = position + draw.below(7);
    return draw.one_in(3) || near < 3 || near > length + 3 ? draw.below(length + 1) : near - 3;
}

// Returns an empty string if the programs did not change.
std::string move(std::vector<Program>& programs, Draw& draw) {
    const std::vector<Program> before = programs;
    const auto [team, position] = draw_position(programs, draw);
    const Instruction moved = programs[team][position];
    programs[team].erase(at(programs[team], position));
    const std::size_t to = draw.one_in(8) ? draw.below(programs.size()) : team;
    programs[to].insert(at(programs[to], draw_new_position(position, programs[to].size(), draw)), moved);
    if (programs == before) return "";
    return "move " + to_string(moved) + " of team " + std::to_string(team) + " into team " + std::to_string(to);
}

// Returns an empty string if there is no compute instruction.
std::string age(std::vector<Program>& programs, Draw& draw) {
    const auto is_pass = [](const Instruction& i) { return is_compute(i.op); };
    const std::optional<Spot> spot = draw_position_where(is_pass, programs, draw);
    if (!spot) return "";
    Instruction& pass = programs[spot->team][spot->position];
    const Instruction before = pass;
    while (pass == before) pass.age = draw.within(0, 3);
    return "age " + to_string(before) + " to " + to_string(pass);
}

// Changes the ages of passes so that they use the same weights although a STEP of their stage moved from
// one end of the range to the other.
void adjust_ages(Program::iterator begin, Program::iterator end, int stage, int more_updates) {
    for (auto pass = begin; pass != end; ++pass) {
        if (is_compute(pass->op) && pass->stage == stage) pass->age = std::max(0, pass->age + more_updates);
    }
}

// Moves a STEP or VALIDATE right after or right before a forward of its program. Returns an empty string if
// there is no forward.
std::string move_update(Program& program, std::size_t from, Draw& draw) {
    const auto is_forward = [](const Instruction& i) { return i.op == Op::forward; };
    const std::vector<Program> one{program};
    const std::optional<Spot> forward = draw_position_where(is_forward, one, draw);
    if (!forward) return "";
    const bool keeps_weights = draw.one_in(2);
    const auto step = at(program, from);
    const auto mark = at(program, forward->position);
    const std::string words =
        "step " + to_string(*step) + (mark < step ? " before " : " after ") + to_string(*mark);
    if (mark < step) {
        if (keeps_weights) adjust_ages(mark, step, step->stage, 1);
        std::rotate(mark, step, std::next(step));
    } else {
        if (keeps_weights) adjust_ages(step, std::next(mark), step->stage, -1);
        std::rotate(step, std::next(step), std::next(mark));
    }
    return words + (keeps_weights ? " with the same weights" : "");
}

// Returns an empty string if there is no STEP or VALIDATE.
std::string update(std::vector<Program>& programs, Draw& draw) {
    const auto is_update = [](const Instruction& i) { return i.op == Op::step || i.op == Op::validate; };
    const std::optional<Spot> spot = draw_position_where(is_update, programs, draw);
    if (!spot) return "";
    if (draw.one_in(8)) return erase(programs, *spot);
    if (draw.one_in(8)) return duplicate(programs, *spot, draw);
    return move_update(programs[spot->team], spot->position, draw);
}

std::string damage(Damage kind, std::vector<Program>& programs, const PipelineShape& shape, Draw& draw) {
    switch (kind) {
        case Damage::erase:
            return erase(programs, draw_position(programs, draw));
        case Damage::duplicate:
            return duplicate(programs, draw_position(programs, draw), draw);
        case Damage::retarget:
            return retarget(programs, shape, draw);
        case Damage::swap:
            return swap(programs, draw);
        case Damage::cross:
            return cross(programs, shape, draw);
        case Damage::move:
            return move(programs, draw);
        case Damage::age:
            return age(programs, draw);
        case Damage::update:
            return update(programs, draw);
    }
    return "";
}

}  // namespace

std::string damage_once(std::vector<Program>& programs, const PipelineShape& shape, Draw& draw) {
    // Kinds that may leave programs sound are drawn more often: nearly all others are rejected as written.
    constexpr Damage kinds[] = {Damage::erase, Damage::duplicate, Damage::retarget, Damage::cross,
                                Damage::swap,  Damage::swap,      Damage::swap,     Damage::swap,
                                Damage::move,  Damage::move,      Damage::move,     Damage::move,
                                Damage::age,   Damage::update,    Damage::update};
    while (true) {
        const Damage kind = kinds[draw.below(std::size(kinds))];
        if (std::string words = damage(kind, programs, shape, draw); !words.empty()) return words;
    }
}

}  // namespace trireme::schedule
