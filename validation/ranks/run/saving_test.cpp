// Checkpoints that are written while the ranks continue.
#include "run/saving.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <filesystem>

#include "comm/mpi/mpi_communicator.hpp"
#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/archive/listing.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/comm/collectives.hpp"
#include "unit/checkpoint/small_model.hpp"
#include "unit/checkpoint/written.hpp"

namespace trireme::run {
namespace {

namespace fs = std::filesystem;
using validation::WholeState;

// All ranks hold the whole state, and each owns a part of it. With several ranks, rank 0 owns no part.
class BackgroundSave : public testing::Test {
protected:
    BackgroundSave() {
        folder_ = all_gather(control_, scratch_.file("checkpoints")).front();
        const auto ranks = static_cast<std::size_t>(control_.size());
        plan_.state = validation::shared_state(config_, whole_, 0, ranks > 1 ? ranks - 1 : 1);
        for (std::size_t p = 0; p < plan_.state.parts.size(); ++p)
            plan_.state.parts[p].rank = ranks > 1 ? p + 1 : 0;
        plan_.description = validation::description_of(config_, whole_);
        plan_.checkpoints = folder_;
        plan_.run_id = "00c0ffee";
    }
    // Rank 0 removes the folder. No rank may still read it then.
    ~BackgroundSave() override { barrier(control_); }

    std::unique_ptr<Saving> saving() const {
        return std::make_unique<Saving>(
            plan_, std::make_unique<comm::MpiCommunicator>(MPI_COMM_WORLD, "saving", wait_policy_), [] {});
    }

    RunState state_after(std::uint64_t updates, const std::string& facts = "") const {
        return {.facts = facts,
                .views = whole_.views(),
                .updates = validation::make_update_counts(whole_, updates)};
    }

    void finish(Saving& saving) {
        saving.finish();
        barrier(control_);  // after this, rank 0 has finished, too
    }

    // Calls `work` while a file replaces the folder of checkpoints.
    template <class Work>
    void run_with_blocked_folder(Work&& work) {
        if (control_.rank() == 0) {
            fs::rename(folder_, folder_.string() + ".elsewhere");
            std::ofstream(folder_) << "a file";
        }
        barrier(control_);
        work();
        if (control_.rank() == 0) {
            fs::remove(folder_);
            fs::rename(folder_.string() + ".elsewhere", folder_);
        }
        barrier(control_);
    }

    void double_all() {
        for (const model::ParameterTensors& field : whole_.fields) {
            const auto values = field.all().as<float>();
            for (std::size_t e = 0; e < field.all().size(); ++e) values[e] *= 2;
        }
    }

    // Expects the initial values, times `factor`.
    void expect_all(const fs::path& path, float factor) const {
        const WholeState first(whole_.specs, 2), found(whole_.specs, 2);
        const checkpoint::StoredModel stored = checkpoint::StoredModel::open(path);
        stored.read(found.views(), 1);
        for (std::size_t f = 0; f < found.fields.size(); ++f) {
            const auto expected = first.fields[f].all().as<float>();
            const auto got = found.fields[f].all().as<float>();
            for (std::size_t e = 0; e < first.fields[f].all().size(); ++e)
                ASSERT_EQ(got[e], factor * expected[e]);
        }
    }

    device::WaitPolicy wait_policy_{.stall_seconds = 20};
    comm::MpiCommunicator control_{MPI_COMM_WORLD, "control", wait_policy_};
    validation::ScratchFolder scratch_;
    fs::path folder_;
    model::ModelConfig config_ = checkpoint::small_config();
    WholeState whole_{checkpoint::specs_of(config_), 2};
    SavingConfig plan_;
};

TEST_F(BackgroundSave, StoresTheStateFromBeforeLaterUpdates) {
    const auto saves = saving();

    saves->begin(2, state_after(2, R"({"a":1})"), false);
    saves->wait_for_copy();
    double_all();
    for (int step = 0; step < 3; ++step) saves->advance();
    saves->begin(4, state_after(4, R"({"a":2})"), true);
    finish(*saves);

    expect_all(folder_ / "step-2", 1);
    expect_all(folder_, 2);
    EXPECT_EQ(checkpoint::StoredModel::open(folder_).state()->run, R"({"a":2})");
    const std::vector<records::SaveOutcome> outcomes = saves->take_outcomes();
    ASSERT_EQ(outcomes.size(), control_.rank() == 0 ? 2U : 0U);
    for (const records::SaveOutcome& outcome : outcomes) EXPECT_EQ(outcome.complaint, "");
}

TEST_F(BackgroundSave, KeepsOnlyTheNewestCheckpoint) {
    plan_.max_checkpoints = 1;
    const auto saves = saving();

    for (const std::uint64_t step : {2, 4, 6}) saves->begin(step, state_after(step), step == 6);
    finish(*saves);

    EXPECT_EQ(archive::list_names(folder_), (std::vector<std::string>{"latest", "step-6"}));
}

// No call of advance() between the saves completes the first one.
TEST_F(BackgroundSave, RecordsTheWaitForAnEarlierSave) {
    const auto saves = saving();

    for (const std::uint64_t step : {2, 4, 6}) {
        saves->begin(step, state_after(step), false);
        saves->wait_for_copy();
        if (step == 4) saves->finish();
    }
    finish(*saves);

    ASSERT_EQ(saves->waits().size(), 1U);
    EXPECT_EQ(saves->waits().front().step, 4U);
    EXPECT_GT(saves->waits().front().seconds, 0);
    EXPECT_GE(saves->stall_seconds(), saves->waits().front().seconds);
}

// Another run has left a checkpoint of the same step.
TEST_F(BackgroundSave, ReplacesACheckpointOfAnotherRunAtTheSameStep) {
    auto saves = saving();
    saves->begin(4, state_after(4), true);
    finish(*saves);
    plan_.run_id = "0decade0";
    saves = saving();
    double_all();

    EXPECT_EQ(saves->save_at_once(4, state_after(4)), folder_ / "step-4");

    expect_all(folder_, 2);
    EXPECT_EQ(saves->saves(), 1U);
    barrier(control_);
    saves->save_at_once(4, state_after(4));
    EXPECT_EQ(saves->saves(), 1U);  // this run had already saved the step
}

TEST_F(BackgroundSave, SavesAStepAgainAfterItFailed) {
    plan_.continues_after_failure = true;
    const auto saves = saving();
    saves->begin(2, state_after(2), true);
    finish(*saves);
    run_with_blocked_folder([&] {
        saves->begin(4, state_after(4), false);
        saves->wait_for_copy();
        finish(*saves);
    });

    saves->save_at_once(4, state_after(4));

    EXPECT_EQ(checkpoint::StoredModel::open(folder_).step(), 4U);
    barrier(control_);
}

// Each rank gets another part to write.
TEST_F(BackgroundSave, StoresTheStateAfterPartsChangeRanks) {
    const auto saves = saving();
    saves->begin(2, state_after(2), true);
    finish(*saves);
    checkpoint::CheckpointState state = plan_.state;
    std::vector<checkpoint::CheckpointPart>& parts = state.parts;
    std::vector<std::uint64_t> numbers;
    for (const checkpoint::CheckpointPart& part : parts) numbers.push_back(part.rank);
    std::ranges::rotate(numbers, numbers.begin() + 1);
    for (std::size_t p = 0; p < parts.size(); ++p) parts[p].rank = numbers[p];
    std::ranges::sort(parts, {}, &checkpoint::CheckpointPart::rank);
    double_all();

    saves->change_state(state);
    saves->begin(4, state_after(4), true);
    finish(*saves);

    expect_all(folder_ / "step-2", 1);
    expect_all(folder_, 2);
}

// A file replaces the folder. Rank 0 gets the error message, and the run continues.
TEST_F(BackgroundSave, ReportsAnUnwritableFolderAndContinues) {
    plan_.continues_after_failure = true;
    const auto saves = saving();
    saves->begin(2, state_after(2), false);
    saves->wait_for_copy();
    finish(*saves);
    run_with_blocked_folder([&] {
        saves->begin(4, state_after(4), false);
        saves->wait_for_copy();
        finish(*saves);
    });

    if (control_.rank() == 0) {
        const std::vector<records::SaveOutcome> outcomes = saves->take_outcomes();
        ASSERT_EQ(outcomes.size(), 2U);
        EXPECT_EQ(outcomes[0].complaint, "");
        EXPECT_TRUE(validation::says(outcomes[1].complaint, "step-4 cannot be written: Not a directory"));
    }
    expect_all(folder_, 1);
    saves->begin(6, state_after(6), true);
    finish(*saves);
    EXPECT_EQ(checkpoint::StoredModel::open(folder_).step(), 6U);
}

}  // namespace
}  // namespace trireme::run
