// Ranks that plan different micro-batches for a step end the job before they form them.
#include "error_message.hpp"
#include "ranks/run/started_run.hpp"

namespace trireme::run {
namespace {

class StepAgreement : public validation::StartedRun {
protected:
    // Ranks are replicas, which exchange no activations.
    StepAgreement() : StartedRun({5, 4, 3, 9, 4, 3, 5, 4}) {
        config_.model.width = 16;
        config_.model.heads = 4;
        config_.model.positions = 12;
        config_.precision.device = config::DeviceKind::cpu;
        config_.run.batch = 5;  // other samples in each step, whereas all 8 would be the same in any order
        config_.schedule.microbatches = 2;
        config_.schedule.length = plan::LengthPolicy::balanced;
    }

    // Without the comparison at the start of a run, which happens in `run`.
    std::string find_complaint_of_first_step() {
        start();
        trainer_->begin_segment(0, 10);
        return validation::catch_message<ConfigError>([&] { trainer_->step(); });
    }
};

TEST_F(StepAgreement, LetsRanksWithEqualPlansTrain) { EXPECT_EQ(find_complaint_of_first_step(), "(no error)"); }

TEST_F(StepAgreement, EndsTheJobIfOneRankHasPlannedTheNextStepInAnotherWay) {
    const int last = session_.size() - 1;
    if (session_.rank() == last) config_.run.seed += 1;

    EXPECT_EQ(find_complaint_of_first_step(),
              "for step 2, rank 0 has planned other micro-batches, or another plan, than rank " +
                  std::to_string(last) + "; start all ranks with the same program and corpus");
}

}  // namespace
}  // namespace trireme::run
