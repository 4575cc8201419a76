#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <memory>

#include "comm/mpi/mpi_communicator.hpp"
#include "ranks/comm/live_handles.hpp"
#include "ranks/comm/view_of.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::comm {
namespace {

constexpr device::WaitPolicy wait_policy{.stall_seconds = 20};

struct Job {
    int rank = 0;
    int size = 0;
    Job() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
};

std::unique_ptr<Communicator> make_group(const std::vector<int>& ranks) {
    return std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, ranks, "some", wait_policy);
}

std::vector<double> numbers_of(Communicator& group, int job_rank) {
    return all_gather(group, std::array{static_cast<double>(job_rank)});
}

TEST(Groups, ConsistOfTheRequestedRanks) {
    const Job job;
    std::vector<int> same_parity;  // the even ranks, or the odd ones
    for (int rank = job.rank % 2; rank < job.size; rank += 2) same_parity.push_back(rank);

    const auto group = make_group(same_parity);

    EXPECT_EQ(group->size(), static_cast<int>(same_parity.size()));
    EXPECT_EQ(group->rank(), job.rank / 2);
    EXPECT_EQ(numbers_of(*group, job.rank), std::vector<double>(same_parity.begin(), same_parity.end()));
}

TEST(Groups, AreCreatedByTheirOwnRanksOnly) {
    const Job job;
    if (job.rank > 0) {
        std::vector<int> all_but_first;
        for (int rank = 1; rank < job.size; ++rank) all_but_first.push_back(rank);

        const auto group = make_group(all_but_first);

        EXPECT_EQ(group->rank(), job.rank - 1);
        EXPECT_EQ(numbers_of(*group, job.rank),
                  std::vector<double>(all_but_first.begin(), all_but_first.end()));
    }
}

// Groups of neighbours in a ring: every rank is in two groups, both made before either is used.
TEST(Groups, MayOverlapAndBeUsedConcurrently) {
    const Job job;
    std::vector<std::unique_ptr<Communicator>> groups;
    for (int rank = 0; rank < job.size; ++rank) {
        const std::array pair{rank, (rank + 1) % job.size};
        if (job.rank == pair[0] || job.rank == pair[1])
            groups.push_back(make_group({std::min(pair[0], pair[1]), std::max(pair[0], pair[1])}));
    }
    std::vector<std::vector<double>> sent(groups.size()), got(groups.size(), std::vector<double>(1));
    std::vector<Communicator::RequestId> receipts, dispatches;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        sent[i] = {100.0 * job.rank};
        receipts.push_back(groups[i]->start_receive(make_view(got[i]), 1 - groups[i]->rank()));
        dispatches.push_back(groups[i]->start_send(make_view(sent[i]), 1 - groups[i]->rank()));
    }

    std::vector<double> neighbours;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        groups[i]->wait(std::array{dispatches[i], receipts[i]});
        neighbours.push_back(got[i][0] / 100);
    }

    std::ranges::sort(neighbours);
    std::vector<double> expected{static_cast<double>((job.rank + 1) % job.size),
                                 static_cast<double>((job.rank + job.size - 1) % job.size)};
    std::ranges::sort(expected);
    EXPECT_EQ(neighbours, expected);
}

TEST(Groups, KeepTheirMessagesSeparate) {
    const Job job;
    if (job.rank < 2) {
        const auto first = make_group({0, 1});
        const auto second = make_group({0, 1});
        std::vector<double> of_first{1}, of_second{2}, got_first(1), got_second(1);
        const int peer = 1 - job.rank;

        const auto first_receipt = first->start_receive(make_view(got_first), peer);
        const auto second_receipt = second->start_receive(make_view(got_second), peer);
        second->wait(std::array{second->start_send(make_view(of_second), peer), second_receipt});
        first->wait(std::array{first->start_send(make_view(of_first), peer), first_receipt});

        EXPECT_EQ(got_first[0], 1);
        EXPECT_EQ(got_second[0], 2);
    }
}

TEST(Groups, FreeTheirMpiHandles) {
    const Job job;
    const int before = live_handles();
    int while_alive = before;
    for (int round = 0; round < 200; ++round) {
        const int first = (job.rank + round % 2) / 2 * 2 - round % 2;  // pairs; odd rounds have different ones
        std::vector<int> pair;
        for (const int rank : {first, first + 1})
            if (rank >= 0 && rank < job.size) pair.push_back(rank);

        const auto group = make_group(pair);

        while_alive = std::max(while_alive, live_handles());
        ASSERT_EQ(all_gather(*group, std::array{1.0 * round}), std::vector<double>(pair.size(), round));
    }

    EXPECT_EQ(while_alive, before + 1);
    EXPECT_EQ(live_handles(), before);
}

TEST(Groups, KeepTheRequestedRankOrder) {
    const Job job;
    std::vector<int> backwards;
    for (int rank = job.size; rank > 0; --rank) backwards.push_back(rank - 1);

    const auto group = make_group(backwards);

    EXPECT_EQ(group->rank(), job.size - 1 - job.rank);
    const std::vector<double> expected(backwards.begin(), backwards.end());
    EXPECT_EQ(all_gather(*group, std::array{1.0 * job.rank}), expected);
}

TEST(Groups, RejectDuplicateOrUnknownRanksAndAMissingOwnRank) {
    const Job job;
    const auto refusal = [](const std::vector<int>& ranks) -> std::string {
        try {
            make_group(ranks);
        } catch (const BugError& error) {
            return error.what();
        }
        return "nothing";
    };
    const auto sentence = [&](const std::string& ranks) {
        return cat("rank ", job.rank, " of ", job.size, " cannot create the some group of ranks ", ranks,
                   "; these ranks must exist, differ, and include rank ", job.rank);
    };

    EXPECT_EQ(refusal({0, 1, 0}), sentence("0 1 0"));
    EXPECT_EQ(refusal({job.rank, job.size}), sentence(cat(job.rank, " ", job.size)));
    EXPECT_EQ(refusal({(job.rank + 1) % job.size}), sentence(cat((job.rank + 1) % job.size)));
}

}  // namespace
}  // namespace trireme::comm
