// Tests options that have an effect only together with other options.
#include <gtest/gtest.h>

#include "unit/app/arguments.hpp"
#include "unit/app/temporary_file.hpp"

namespace trireme::app {
namespace {

std::string train_complaint(const std::string& options) {
    return complaint("train --corpus a.h5 --steps 5 " + options);
}

TEST(OptionNeeds, AreReportedWithASettingThatMeetsThem) {
    EXPECT_EQ(train_complaint("--horizon 50"),
              "--horizon has no effect without a policy that re-shards the model; set --straggler uneven, "
              "--elastic length or --elastic freeze, or drop --horizon");
    EXPECT_EQ(train_complaint("--move overlap"),
              "--move has no effect without plan changes that move parameters; set --straggler uneven, "
              "--elastic length, --freeze or --decisions FILE, or drop --move");
    EXPECT_EQ(train_complaint("--keep 3"),
              "--keep has no effect without several checkpoints; set --checkpoint-every K or drop --keep");
    EXPECT_EQ(train_complaint("--momentum 0.5"),
              "--momentum has no effect without the optimizer sgd; set --optimizer sgd or drop --momentum");
}

TEST(OptionNeeds, RejectEveryOptionWithoutAnEffect) {
    for (const std::string options : {"--resize-limit 0.5",
                                      "--resize-select random --straggler uneven",
                                      "--resize-fill same",
                                      "--resize-layers by-variation --straggler migrate",
                                      "--resize-decay kept",
                                      "--horizon 5 --straggler resize",
                                      "--look-every 5",
                                      "--look-every 5 --decisions d.jsonl",
                                      "--bridge 5 --straggler migrate",
                                      "--semi-slack 0.5 --straggler resize",
                                      "--migrate-by direct --straggler uneven",
                                      "--move twins --straggler resize",
                                      "--keep 2",
                                      "--on-save-error go-on --move restart --straggler uneven",
                                      "--beta1 0.5 --optimizer sgd",
                                      "--beta2 0.5 --optimizer sgd",
                                      "--epsilon 1 --optimizer sgd",
                                      "--min-lr 1e-6 --lr-schedule constant",
                                      "--network free",
                                      "--clock-every 0.1",
                                      "--clock-every 0.1 --schedule auto",
                                      "--charge passes"}) {
        const std::string said = train_complaint(options);
        EXPECT_NE(said.find(" has no effect without "), std::string::npos) << options << ": " << said;
    }
    EXPECT_NE(complaint("plan --horizon 5").find("--horizon has no effect"), std::string::npos);
    EXPECT_NE(complaint("prepare a.txt --output a.h5 --count 5").find("--count has no effect"),
              std::string::npos);
}

TEST(OptionNeeds, AcceptEveryOptionWithAnEffect) {
    for (const std::string options :
         {"--straggler semi --resize-limit 0.5 --semi-slack 0.5 --migrate-by direct --look-every 5",
          "--straggler uneven --horizon 5 --bridge 5 --migrate-by direct --move twins",
          "--decisions d.jsonl --move overlap --migrate-by direct", "--checkpoint-every 5 --keep 2",
          "--clock-every 0.1 --schedule mine.csv", "--clock-every 0.1 --decisions d.jsonl",
          "--checkpoint-every 5 --on-save-error go-on", "--resume auto --run-dir none --keep 2",
          "--straggler uneven --move restart --keep 1", "--optimizer sgd --momentum 0.5",
          "--beta1 0.5 --beta2 0.5 --epsilon 1"}) {
        EXPECT_EQ(train_complaint(options), "");
    }
}

TEST(OptionNeeds, AcceptTheConfigFileThatARunWrites) {
    const TemporaryFile file("config.ini", train_config("--optimizer sgd --straggler resize").ini_text);

    EXPECT_EQ(complaint("train --config " + file.path()), "");
    EXPECT_EQ(complaint("train --config " + file.path() + " --momentum 0.5"), "");
}

}  // namespace
}  // namespace trireme::app
