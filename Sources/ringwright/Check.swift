// `ringwright check`

import Server

func runCheck(_ arguments: CommandArguments) -> ExitStatus {
    Terminal.show(CheckCommand.run(CheckOptions(arguments)))
}
