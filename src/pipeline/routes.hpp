// The messages by which one rank does its part of a send or receive instruction between two teams.
#pragma once

#include <vector>

#include "trireme/layout/row_messages.hpp"
#include "trireme/pipeline/engine.hpp"

namespace trireme::pipeline {

// A message between this rank and one rank of the other team: a range of this rank's rows of the micro-batch.
struct RankMessage {
    int peer = 0;            // rank of the other team: its number in the group EngineContext::activations
    layout::Range own_rows;  // rows of this rank, counted from the first row that it holds
};

class Routes {
public:
    explicit Routes(const EngineContext& context);

    // Returns the team at the other end of a send or receive.
    int find_other_team(const schedule::Instruction& message) const;
    // Returns the messages of this rank for a send or receive instruction. `rows` is the number of
    // rows of the whole micro-batch, of which a rank may hold a share.
    std::vector<RankMessage> list_rank_messages(const schedule::Instruction& message, std::size_t rows) const;
    // True if the other end of the message is another team.
    bool crosses_teams(const schedule::Instruction& message) const { return find_other_team(message) != team_; }
    bool is_first_trained(int stage) const { return stage == context_.shape.first_trained_stage; }
    bool is_last(int stage) const { return stage + 1 == context_.shape.stages(); }
    bool trains_any_stage() const;  // true if this team has backward passes and updates

private:
    int find_group_rank(int rank) const;
    layout::Range select_rows(int rank, int team, std::size_t rows) const;

    const EngineContext context_;
    int team_;  // the team of this rank
};

bool is_gradient_message(schedule::Op message);

}  // namespace trireme::pipeline
