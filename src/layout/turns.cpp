#include "trireme/layout/turns.hpp"

namespace trireme {
namespace {

// Pieces behind each other, where everybody has done some already.
std::vector<std::size_t> turns_from(std::vector<std::size_t>& done, const std::vector<double>& parts,
                                    std::size_t count) {
    std::vector<std::size_t> turns;
    const auto end_of_next = [&](std::size_t who) { return static_cast<double>(done[who] + 1) / parts[who]; };
    for (std::size_t piece = 0; piece < count; ++piece) {
        std::size_t first = 0;
        for (std::size_t who = 1; who < parts.size(); ++who) {
            if (end_of_next(who) < end_of_next(first)) first = who;
        }
        ++done[first];
        turns.push_back(first);
    }
    return turns;
}

}  // namespace

std::vector<std::size_t> take_turns(const std::vector<double>& parts, std::size_t count) {
    std::vector<std::size_t> done(parts.size());
    return turns_from(done, parts, count);
}

std::vector<std::size_t> count_turns(const std::vector<double>& parts, std::size_t count) {
    const bool are_enough = count >= parts.size();
    std::vector<std::size_t> done(parts.size(), are_enough ? 1 : 0);
    turns_from(done, parts, are_enough ? count - parts.size() : count);
    return done;
}

}  // namespace trireme
