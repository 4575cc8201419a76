#include "pipeline/routes.hpp"

#include <algorithm>

#include "trireme/layout/shares.hpp"

namespace trireme::pipeline {

bool is_gradient_message(schedule::Op message) {
    return message == schedule::Op::send_backward || message == schedule::Op::receive_backward;
}

Routes::Routes(const EngineContext& context)
    : context_(context), team_(find_team_of_rank(context.teams, context.rank)) {}

int Routes::find_other_team(const schedule::Instruction& message) const {
    const bool is_other_team_next =
        message.op == schedule::Op::send_forward || message.op == schedule::Op::receive_backward;
    return context_.shape.find_executor(message.stage + (is_other_team_next ? 1 : -1), message.microbatch);
}

bool Routes::trains_any_stage() const {
    const std::vector<int>& stages = context_.teams[static_cast<std::size_t>(team_)].stages;
    return std::ranges::any_of(stages, [&](int stage) { return context_.shape.trains(stage); });
}

int Routes::find_group_rank(int rank) const {
    const auto& ranks = context_.group_ranks;
    return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

// Returns the rows of a micro-batch that a rank of a team holds at the boundary between two stages.
layout::Range Routes::select_rows(int rank, int team, std::size_t rows) const {
    if (!context_.is_sequence_parallel) return {0, rows};
    const std::vector<int>& ranks = context_.teams[static_cast<std::size_t>(team)].ranks;
    const auto position = std::find(ranks.begin(), ranks.end(), rank) - ranks.begin();
    return layout::cut_evenly(rows, ranks.size())[static_cast<std::size_t>(position)];
}

std::vector<RankMessage> Routes::list_rank_messages(const schedule::Instruction& message,
                                                    std::size_t rows) const {
    const auto& team_ranks = context_.teams[static_cast<std::size_t>(team_)].ranks;
    const auto& other_ranks = context_.teams[static_cast<std::size_t>(find_other_team(message))].ranks;
    const bool is_sender = is_send(message.op);
    const layout::Range own_range = select_rows(context_.rank, team_, rows);
    std::vector<RankMessage> rank_messages;
    for (const layout::RowMessage& row_message :
         layout::plan_row_messages(rows, is_sender ? team_ranks : other_ranks,
                                   is_sender ? other_ranks : team_ranks, context_.is_sequence_parallel)) {
        if ((is_sender ? row_message.source : row_message.destination) != context_.rank) continue;
        rank_messages.push_back(
            {.peer = find_group_rank(is_sender ? row_message.destination : row_message.source),
             .own_rows = {row_message.rows.begin - own_range.begin, row_message.rows.count}});
    }
    return rank_messages;
}

}  // namespace trireme::pipeline
