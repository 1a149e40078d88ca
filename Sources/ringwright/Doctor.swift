// `ringwright doctor`

import Server

func runDoctor(_ arguments: CommandArguments) throws(CommandFailure) -> ExitStatus {
    Terminal.show(try DoctorCommand.run(DoctorOptions(arguments)))
}
