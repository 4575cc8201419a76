#include "pipeline/routes.hpp"

#include <algorithm>

#include "trireme/layout/shares.hpp"

namespace trireme::pipeline {

bool is_of_gradient(schedule::Op message) {
    return message == schedule::Op::send_backward || message == schedule::Op::receive_backward;
}

Routes::Routes(const EngineWiring& wiring) : wiring_(wiring), team_(team_of_rank(wiring.teams, wiring.rank)) {}

int Routes::other_team(const schedule::Instruction& message) const {
    const bool is_to_next =
        message.op == schedule::Op::send_forward || message.op == schedule::Op::receive_backward;
    return wiring_.shape.executor_of(message.stage + (is_to_next ? 1 : -1), message.microbatch);
}

int Routes::place_in_group(int rank) const {
    const auto& ranks = wiring_.ranks;
    return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

// Returns the rows of a micro-batch that a rank of a team holds between two stages.
layout::Range Routes::rows_of(int rank, int team, std::size_t rows) const {
    if (!wiring_.are_rows_cut) return {0, rows};
    const std::vector<int>& ranks = wiring_.teams[static_cast<std::size_t>(team)].ranks;
    const auto place = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
    return layout::cut_evenly(rows, ranks.size())[static_cast<std::size_t>(place)];
}

std::vector<Leg> Routes::legs(const schedule::Instruction& message, std::size_t rows) const {
    const auto& own = wiring_.teams[static_cast<std::size_t>(team_)].ranks;
    const auto& others = wiring_.teams[static_cast<std::size_t>(other_team(message))].ranks;
    const bool sends = is_send(message.op);
    const layout::Range own_range = rows_of(wiring_.rank, team_, rows);
    std::vector<Leg> legs;
    for (const layout::RowMessage& each :
         layout::row_messages(rows, sends ? own : others, sends ? others : own, wiring_.are_rows_cut)) {
        if ((sends ? each.source : each.destination) != wiring_.rank) continue;
        legs.push_back({.peer = place_in_group(sends ? each.destination : each.source),
                        .own_rows = {each.rows.begin - own_range.begin, each.rows.count}});
    }
    return legs;
}

}  // namespace trireme::pipeline
