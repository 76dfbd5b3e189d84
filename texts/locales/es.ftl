### Lo que dice el bot mismo, en español.
###
### Tono: breve y cercano, de «tú» y sin regionalismos. Herramienta = tool, llamada = call, turno = turn.

## Words that other texts use

Quoted = «{ $text }»
Sentences = { $first } { $second }
TakesNothing = /{ $command } no lleva nada detrás.
NothingFollows = Este comando no lleva nada detrás.
OwnerAlone = Eso solo puede hacerlo el dueño de este bot.

## The commands in menus and in /help

SummaryHelp = Qué soy y qué puedo hacer
SummaryStatus = Qué se ejecuta, qué espera, cuánto se usó hoy
SummaryStop = Detener lo que hago; con all, todo
SummarySameAsStop = Lo mismo que /stop
SummaryNew = Empezar una conversación nueva
SummaryQueue = Hacer algo después de la tarea en curso: /queue TEXTO
SummaryRetry = Repetir el último mensaje que falló o se omitió
SummaryUndo = Deshacer lo que la última tarea cambió en archivos
SummaryFiles = Qué hay en el espacio de trabajo o en una carpeta suya
SummaryGet = Enviar un archivo: /get RUTA
SummaryModel = Qué modelo responde aquí y cómo cambiarlo
SummaryLanguage = El idioma en que escribo aquí
SummaryContext = Si leo lo que el grupo escribió antes
SummaryApprovals = Las llamadas que esperan una decisión, con sus botones
SummaryPairings = Quién quiere usar este bot; para su dueño
SummaryChats = Quién puede usar este bot; para su dueño
SummaryUnpair = Retirar una vinculación: /unpair ID; para el dueño
SummarySchedules = Lo que todos los chats dejaron programado; para el dueño
SummaryUsage = Lo que usaron los modelos en 7 días; para el dueño
SummaryHealth = Cómo está cada parte del bot; para su dueño
SummaryWhoAmI = Tu ID y el de este chat
SummarySameAsHelp = Lo mismo que /help

## Answers to commands

WhatIAm = Soy Autonous, un agente que trabaja para ti en una máquina. Leo, escribo y busco archivos en mi espacio de trabajo y ejecuto comandos en un entorno aislado; no llego a nada más de la máquina. Todo lo que hago queda registrado.
Examples =
    Escribe lo que hay que hacer, por ejemplo:
    • ¿Qué hay en el espacio de trabajo?
    • Escribe un script que renombre todas las fotos por fecha y pruébalo.
    • Busca todos los TODO del proyecto y ordénalos por archivo.
ExamplesWithoutModel =
    No hay ningún modelo configurado, así que cada mensaje es la llamada de una herramienta, por ejemplo:
    • ls path=.
    • grep pattern=TODO
    • bash cmd="date"
    Para que responda, iníciame con la clave de un modelo, como ANTHROPIC_API_KEY u OPENAI_API_KEY, o con OPENAI_BASE_URL: véase docs/models.md.
ApprovalsInTerminal = `supervisor approvals` muestra las llamadas que esperan una decisión; `supervisor approve` y `supervisor deny` deciden.
NoApprovals = Ninguna llamada espera una decisión en este chat.
ApprovalsComeAgain =
    { $count ->
        [one] 1 llamada espera una decisión; vuelve a llegar con sus botones.
       *[other] { $count } llamadas esperan una decisión; vuelven a llegar con sus botones.
    }
CancelUsage = /cancel detiene lo que hago o, si no hago nada, anula el último mensaje en espera. /cancel all lo detiene todo.
CancelStopping = Detengo lo que estaba haciendo.
CancelStoppedParked = Se detuvo lo que esperaba una decisión.
CancelledWaiting =
    { $count ->
        [one] 1 mensaje en espera anulado: { $texts }.
       *[other] { $count } mensajes en espera anulados: { $texts }.
    }
StillWaiting =
    { $count ->
        [one] 1 mensaje sigue en espera: { $texts }. /stop all lo anula también.
       *[other] { $count } mensajes siguen en espera: { $texts }. /stop all los anula también.
    }
NothingToCancel = No hay nada que cancelar.
GetUsage = /get RUTA envía un archivo, por ejemplo /get notes/today.md; /files los muestra.
NoFiles = Aquí no hay archivos.
TextAlone = Este chat solo muestra texto. El archivo está en el espacio de trabajo; /files lo muestra.
NoAnswerFromTools = El servidor de herramientas no respondió. Envíalo otra vez en un momento.
DatabaseUnavailable = La base de datos no está disponible ahora. Envíalo otra vez en un momento.
NewUsage = /new empieza una conversación nueva. Envíalo solo y después lo que quieras.
NewBegun = Empieza una conversación nueva: ya no sé lo que se dijo antes. Los archivos y el registro de lo hecho quedan como están.
QueueUsage = Después de /queue, escribe qué hay que hacer cuando termine la tarea en curso.
RetryUsage = /retry repite tu último mensaje que falló o se omitió.
RetryRunning = Se repite: { $text }
RetryNothing = No hay nada que repetir: ningún mensaje de este chat falló ni se omitió.
UndoUsage = /undo deshace lo que la última tarea cambió en archivos; no lleva nada detrás.
UndoNotEnded = Una tarea que cambió archivos no ha terminado. Espera o detenla con /stop y después /undo.
UndoNothing = No hay nada que deshacer: ninguna tarea de este chat cambió un archivo en la última semana, salvo mediante comandos.
UndoneBefore = Lo que cambió esa tarea ya está deshecho.
UndoneBack = De vuelta: { $path }
UndoneRemoved = Eliminado: { $path }
UndoneAsBefore = Como antes: { $path }
UndoneNothing = No se deshizo nada.
UndoneInPart = El resto no se deshizo.
WhoYouAre = Eres { $sender }.
WhereThisIs = Este chat tiene el ID { $chat } en el canal { $channel }.
WhereThisIsNamed = Este chat, «{ $name }», tiene el ID { $chat } en el canal { $channel }.
ModelUsage = /model dice qué modelo responde en este chat. /model NOMBRE cambia a otro y /model default vuelve.
ModelChosen = Desde el próximo mensaje responde { $name } en este chat.
ModelUnknown = Aquí no hay ningún modelo «{ $name }».
ModelNone = No hay ningún modelo configurado: cada mensaje es la llamada de una herramienta. Véase docs/models.md.
ModelFirst = el primer modelo
ModelAsChosen = { $name } responde en este chat, como elegiste.
ModelGone = { $first } responde en este chat porque { $gone } ya no está configurado.
ModelFixed = En este chat siempre responde { $name }: así lo decidió quien administra el bot.
ModelAnswers = { $name } responde en este chat.
ModelNoOther = No hay otro modelo: mi operador puede añadir más en models.toml.
ModelSwitch = Cambia con /model y uno de estos nombres: { $names }.
LanguageAsk = En este chat escribo en español. ¿Qué idioma prefieres? El modelo responde en el idioma en que le escribes.
LanguageList = En este chat escribo en español. Cambia con /language y uno de estos códigos: { $codes }. /language default retira la elección.
LanguageUnknown = No escribo en «{ $code }».
LanguageChosen = Desde ahora escribo en español en este chat.
LanguageByDefault = Ya no hay ningún idioma elegido para este chat. Ahora escribo en español.
ContextUsage = /context dice si leo lo que este grupo escribió antes de que alguien me hable; /context on y /context off lo cambian.
ContextOn = Cuando alguien me habla aquí, el modelo lee los { $count } mensajes más recientes de este grupo. Los guardo solo en memoria y los olvido al detenerme. Para eso, Telegram debe mostrármelos: desactiva el modo de privacidad en BotFather o hazme administrador. /context off lo termina.
ContextOff = Aquí solo leo lo que se dirige a mí. Un administrador puede cambiarlo con /context on.
ContextGroupsAlone = /context es para grupos: aquí leo todo lo que escribes.
ContextAdministratorsAlone = Solo un administrador de este grupo cambia lo que leo aquí.

## /status

NothingRuns = No se ejecuta nada.
StatusWaitsForWorker = Espera un trabajador libre.
StatusWaitsBehind = Espera un trabajador libre, { $before } antes.
StatusWaitsForSender = Espera el resto de un mensaje.
StatusFetching = Descargando { $name }.
StatusAsked = Se te pregunta: { $question }
NothingWaits = Nada espera.
MessagesWait =
    { $count ->
        [one] 1 mensaje espera.
       *[other] { $count } mensajes esperan.
    }
StatusParked = Espera una decisión desde hace { $age }: { $text } (turno { $turns })
StatusRunning = En marcha desde hace { $age }: { $text } (turno { $turns })
StatusRunningTool = En marcha desde hace { $age }: { $text } (turno { $turns }, última herramienta { $tool })
Today =
    Hoy (UTC): { $tasks } { $tasks ->
        [one] tarea
       *[other] tareas
    }, { $turns } { $turns ->
        [one] turno
       *[other] turnos
    }, { $input } tokens de entrada, { $output } de salida.
TodayWithCost =
    Hoy (UTC): { $tasks } { $tasks ->
        [one] tarea
       *[other] tareas
    }, { $turns } { $turns ->
        [one] turno
       *[other] turnos
    }, { $input } tokens de entrada, { $output } de salida, coste { $cost }.
UsedByChat = Usado por este chat: { $parts }.
UsedByUser = Usado por ti: { $parts }.
UsedTasks = { $used } de { $limit } tareas al día
UsedTurns = { $used } de { $limit } turnos al día
UsedTokens = { $used } de { $limit } tokens al día
UsedCommandSeconds = { $used } de { $limit } segundos de comandos al día
UsedMoney = { $used } de { $limit } de dinero al día

## For the owner

ChatBySettings = { $chat }: por la configuración
ChatPaired = { $chat }: { $title }, vinculado
NoChats = Ningún chat puede usar este bot.
UnpairUsage = /unpair ID retira una vinculación; /chats muestra los ID.
UnpairBySettings = { $chat } está permitido por la configuración del bot, y solo ahí se quita.
UnpairUnknown = No había ningún chat vinculado con el ID { $chat }.
UnpairDone = { $chat } ya no puede usar este bot, y lo que había pedido queda cancelado.
ScheduleOnce = { $at }, en { $chat }: { $text }
ScheduleRepeated = { $at }, después { $every }, en { $chat }: { $text }
NothingScheduled = No hay nada programado.
UsageLine =
    { $day } { $chat }: { $tasks } { $tasks ->
        [one] tarea
       *[other] tareas
    }, { $turns } { $turns ->
        [one] turno
       *[other] turnos
    }, { $input } tokens de entrada, { $output } de salida ({ $model })
UsageLineWithCost =
    { $day } { $chat }: { $tasks } { $tasks ->
        [one] tarea
       *[other] tareas
    }, { $turns } { $turns ->
        [one] turno
       *[other] turnos
    }, { $input } tokens de entrada, { $output } de salida, coste { $cost } ({ $model })
NoUsage = En los últimos 7 días no se usó ningún modelo.
HealthUnknown = Todavía no se sabe nada.
ListMore = … y { $count } más: la línea de comandos los muestra todos.
PairingsOwnerAlone = Solo el dueño de este bot decide quién puede usarlo.
NoStranger = Ningún desconocido espera una respuesta.
PairingInTerminal = { $title } (chat { $chat } de { $channel }): supervisor pair { $code }

## Strangers and pairing

StrangerRefused =
    Este bot todavía no trabaja para este chat. Su operador puede permitirlo en el plazo de una hora: supervisor pair { $code }

    El ID de este chat es { $chat }.
StrangerAsks = { $title } quiere usar este bot (ID del chat { $chat }). Permítelo solo si sabes quién es: podrá hacer lo mismo que tú. El código { $code } vale una hora.
ButtonAllow = Permitir
ButtonIgnore = Ignorar
StrangerWaits = { $title } quiere usar este bot. Los botones vienen abajo.
StrangersWait = { $count } chats quieren usar este bot. Los botones vienen abajo.
StrangersBehind = { $count } más esperan hasta que respondas: { $names }.
StrangersBehindAndOthers = { $count } más esperan hasta que respondas: { $names } y otros.
StrangersWrote =
    { $count ->
        [one] 1 desconocido más escribió
       *[other] { $count } desconocidos más escribieron
    } a este bot. /pairings muestra quién espera.
CodeTooLate = Este código ya se usó o ha caducado.
StrangerAllowed = { $title } (ID del chat { $chat }) ya puede usar este bot. /unpair { $chat } lo revierte, o supervisor unpair { $chat } en una terminal.
StrangerIgnored = { $title } (ID del chat { $chat }) queda ignorado. En una terminal, «supervisor pair { $code }» todavía lo permite.
Welcome = Ya puedes usar este bot. /help dice qué puede hacer.

## Presses of buttons, and what somebody types instead

PressAllowed = Permitido.
PressDenied = Denegado.
PressAnswered = Respondido.
PressIgnored = Ignorado.
PressStopping = Deteniendo.
PressCancelled = Cancelado.
PressEnded = Esto ya terminó.
PressNothing = Este botón ya no hace nada.
PressNoted = Anotado. Tendrá efecto en cuanto el servidor de herramientas vuelva a responder.
PressDecidedBefore = Esto ya se decidió o se acabó el tiempo.
PressNotWaitedFor = Esto ya no se espera.
NotAnApprover = Eso solo lo decide un aprobador de este bot.
DecidedBefore = Esto ya se decidió y se está transmitiendo.
StopNotAllowed = Solo puede detenerlo la gente para la que trabaja este bot.
PairingOwnerDecides = Eso solo lo decide el dueño de este bot.
UseTheButtons = Una llamada espera una decisión. Usa los botones de la pregunta o respóndele con sí o no. /approvals la muestra otra vez.
AnswerNotAllowed = Solo puede responder la gente para la que trabaja este bot.
NotTheAsker = Solo responde quien pidió esta tarea o un aprobador de este bot.
AnswerNoOption = Pulsa uno de los botones o responde con el número de una opción.
AnswerTooLong = Tu respuesta es demasiado larga. Envía una más corta.
LanguageNotAllowed = Solo puede elegir el idioma la gente para la que trabaja este bot.
ButtonStop = Detener

## Who is obeyed, and what is not run

AdministratorsAlone = En este grupo solo obedezco a sus administradores.
ListedAlone = En este grupo solo obedezco a quienes mi operador ha permitido.
ForwardedCommand = No ejecuto comandos reenviados. Escríbelo tú.
UnknownAdministrators = No pude leer quién administra este grupo, así que no hice nada. Envíalo otra vez en un momento.
SkippedWhileOff =
    { $count ->
        [one] Mientras estaba apagado llegó 1 mensaje que no ejecuté. /retry lo ejecuta.
       *[other] Mientras estaba apagado llegaron { $count } mensajes que no ejecuté. /retry ejecuta el último; repítelo para los anteriores.
    }
Outage = Ahora mismo no puedo guardar mensajes: mi base de datos, o el disco en que está, no admite cambios. Tu mensaje no se pierde. Sigo por mi cuenta en cuanto haya sitio.
Unreadable = No puedo leer ese tipo de mensaje. Escribe lo que necesitas o envía un archivo.
FileTooLarge = Ese archivo es demasiado grande: Telegram da a un bot archivos de 20 MiB como máximo. Envía uno más pequeño, por partes o un enlace.

## Progress

ProgressWorking = Trabajando · { $elapsed } · turno { $turn }
ProgressParked = Esperando una decisión · { $elapsed } · turno { $turn }
ProgressWaitsForModel = Esperando el modelo · { $elapsed }
ProgressModelUnreachable = No se puede contactar con el modelo en { $address } ({ $cause }). Lo sigo intentando.
ProgressStopping = Deteniendo · { $elapsed }
ProgressTokens = { $tokens } tokens
ProgressAdded =
    { $messages } { $messages ->
        [one] mensaje añadido
       *[other] mensajes añadidos
    }
Seconds = { $seconds } s
MinutesAndSeconds = { $minutes } min { $seconds } s
ProgressWaitsForWorker = Esperando un trabajador
ProgressWaitsBehind = En espera · { $before } antes
ProgressWaitsForSender = Esperando el resto de tu mensaje
ProgressFetching = Descargando { $name }

## Approvals

ApprovalAsks =
    ¿Puedo llamar a { $tool } (riesgo { $risk ->
        [low] bajo
        [medium] medio
        [high] alto
       *[other] { $risk }
    })?
ApprovalBy = Lo pide { $session }.
ApprovalOnceOnly = Solo se puede permitir esta llamada: no se puede saber antes todo lo que ejecuta.
ApprovalExtentTask = «{ ButtonOnce }» vale para esta llamada. Tras «{ ButtonTask }» o «{ ButtonChat }», se ejecutan ahí sin preguntar: { $covers }.
ApprovalExtentChat = «{ ButtonOnce }» vale para esta llamada. Tras «{ ButtonChat }», se ejecutan ahí sin preguntar: { $covers }.
ApprovalReveal = Lo oculto lo muestra `supervisor approvals { $id } --reveal`.
ApprovalFile = La llamada completa de { $tool } que espera tu decisión.
ApprovalBeginning = Esto es solo el comienzo: el archivo de arriba tiene los { $bytes } bytes de la llamada.
ButtonOnce = Una vez
ButtonTask = Esta tarea
ButtonChat = Este chat
ButtonDeny = Denegar
ReasonDryRun = una prueba no borra nada
ReasonDelete = borra un archivo
ReasonScript = ejecuta un script de un skill
ReasonControlFiles = puede dejar archivos que otros programas ejecutan
ReasonSendsData = envía datos a otra máquina
ReasonNewHost = consulta un servidor que no está en AUTONOUS_FETCH_ALLOWED_HOSTS
ReasonOtherChat = envía algo a otro chat
ReasonNewContact = este chat todavía no ha escrito a este contacto en esta dirección
ReasonSeenOutside = programa una tarea para más tarde después de que la suya leyera de fuera
CoversCalls = llamadas a `{ $tool }`
CoversCommands = { "" } con comandos que empiezan por { $list }
CoversPaths = { "" } con rutas como { $list }
CoversHosts = { "" } con servidores como { $list }
CoversCircumstances = { "" } en la circunstancia { $list }
CoversArguments = { "" } con { $list }
CoversDefaultRule = regla predeterminada { $number }
CoversBoth = { $first }, y { $last }
CoversAt = { $calls }, solo en { $hosts }
OutcomeDenied = Denegado.
OutcomeDeniedBy = Denegado por { $by }.
OutcomeDeniedWhy = Denegado: { $reason }.
OutcomeDeniedByWhy = Denegado por { $by }: { $reason }.
OutcomeOnce = Permitido una vez.
OutcomeOnceBy = Permitido una vez por { $by }.
OutcomeTask = Permitido para esta tarea.
OutcomeTaskBy = Permitido para esta tarea por { $by }.
OutcomeChat = Permitido para este chat.
OutcomeChatBy = Permitido para este chat por { $by }.
CoversTask = Hasta que termine, se ejecutan ahí sin preguntar: { $covers }.
CoversMinutes = Durante { $minutes } min se ejecutan ahí sin preguntar: { $covers }.
CoversHours = Durante { $hours } h se ejecutan ahí sin preguntar: { $covers }.
CoversHoursAndMinutes = Durante { $hours } h { $minutes } min se ejecutan ahí sin preguntar: { $covers }.
OutcomeExpired = Nadie decidió a tiempo, así que no se hizo.
AskReply = Responde con tu respuesta.
AskReplyInstead = O responde con otra respuesta.
OutcomeAnswered = Respondido: { $answer }
OutcomeAnsweredBy = Respondido por { $by }: { $answer }
OutcomeNoAnswer = Nadie respondió a tiempo.
OutcomeWithdrawn = Retirada.
QuestionComesAgain = Esta pregunta vuelve a aparecer abajo.

## Files, schedules and the end of tasks

FileKind =
    { $kind ->
        [photo] la foto
        [voice-message] el mensaje de voz
        [audio] el audio
        [video-note] la videonota
        [video] el vídeo
        [animation] la animación
        [document] el documento
       *[other] el archivo
    }
FileFailed = No pude guardar { $kind }. { $why }
FileNotYet = Todavía no puedo descargar { $name }; sigo intentándolo.
FileGivenUp = No se pudo descargar. Envíalo otra vez.
FileTooManyMegabytes = Tiene más de { $megabytes } MB.
NotDoneByAccess = No se hizo, porque el bot ya no trabaja para este chat: «{ $text }», previsto para { $due }.
NotDoneByAge = No se hizo, porque nada estuvo en marcha durante más de un día: «{ $text }», previsto para { $due }.
EmptyReply = (La respuesta está vacía.)
WholeAnswer = La respuesta completa; como texto serían { $messages } mensajes.
CancelledBefore = Esto se canceló antes de hacer nada.
CancelledAfter = Esto se canceló. Hasta entonces había llamado a herramientas, todas ellas: { $calls }.
CancelledAfterLast = Esto se canceló. Hasta entonces había llamado a herramientas, las últimas { $count }: { $calls }.
CallDone = { $tool } (hecho)
CallFailed = { $tool } (falló)
CallInterrupted = { $tool } (interrumpido)
TaskFailed =
    No pude hacerlo: { $error }

    Para intentarlo otra vez, envía /retry.
TaskFailedAfter =
    No pude hacerlo; lo intenté { $tries } veces. La última vez: { $error }

    Para intentarlo otra vez, envía /retry.
WorkerExited = El trabajador terminó durante la tarea ({ $status }).
ResultNotStored = No se pudo guardar el resultado del intento.
SupervisorRestarted = El supervisor se reinició durante la tarea.
NodeGone = La máquina que ejecutaba la tarea ya no responde.
NodeAway = La máquina con los archivos de este chat ({ $node }) no está en marcha. Tu mensaje espera hasta que vuelva.
LimitUsedUpMinutes = Se agotó el límite de { $limit }. Vuelve a estar libre a las 00:00 UTC, en { $minutes } min.
LimitUsedUpHours = Se agotó el límite de { $limit }. Vuelve a estar libre a las 00:00 UTC, en { $hours } h.
LimitKept = Tu mensaje se guarda y se ejecuta entonces.
LimitSendAgain = Envía el mensaje otra vez entonces, o `supervisor requeue { $task }`.
LimitTasks =
    { $limit ->
        [one] 1 tarea
       *[other] { $limit } tareas
    } al día para { $of ->
        [chat] este chat
       *[user] ti
    }
LimitTurns =
    { $limit ->
        [one] 1 turno
       *[other] { $limit } turnos
    } al día para { $of ->
        [chat] este chat
       *[user] ti
    }
LimitTokens =
    { $limit } tokens al día para { $of ->
        [chat] este chat
       *[user] ti
    }
LimitCommandSeconds =
    { $limit } segundos de comandos al día para { $of ->
        [chat] este chat
       *[user] ti
    }
LimitMoney =
    { $limit } de dinero al día para { $of ->
        [chat] este chat
       *[user] ti
    }

## Tasks that end without an answer

StoppedAtLimit = Tuve que parar en el límite de { $limit }.
StoppedStalled = Tuve que parar: hice las mismas llamadas { $rounds } veces seguidas con los mismos resultados.
ToolServerSilent = El servidor de herramientas no respondió en ese tiempo.
DoneSoFar = Hecho hasta ahora:
DoneNothing = Hecho hasta ahora: no se llamó a ninguna herramienta.
EarlierCalls =
    { $count ->
        [one] 1 llamada anterior
       *[other] { $count } llamadas anteriores
    }
OutcomeUnknown = estaba en marcha, resultado desconocido
LastNoted = Lo último que anoté: { $note }
NoAnswerYet = Pendiente: todavía no hay una respuesta final a tu mensaje.
AskAgainTomorrow = Pregunta otra vez cuando el límite vuelva a estar libre.
AskAgainSmaller = Pregunta otra vez con un paso más pequeño o sube el límite.
AskAgainRephrased = Reformula la petición o dime qué me falta.
AskAgainFixed = Pregunta otra vez cuando se haya arreglado la causa.
LimitOfTurns = { $turns } turnos (AUTONOUS_CONTROL_MAX_TURNS)
LimitOfSeconds = { $seconds } segundos (AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS)
LimitOfTokens = { $tokens } tokens (AUTONOUS_CONTROL_MAX_TOKENS)
LimitOfDayTurns = turnos al día (policy.toml), que vuelve a estar libre a las 00:00 UTC
LimitOfDayTokens = tokens al día (policy.toml), que vuelve a estar libre a las 00:00 UTC
LimitOfDayMoney = dinero al día (policy.toml), que vuelve a estar libre a las 00:00 UTC
ModelRateLimit = El proveedor del modelo no acepta más peticiones ahora; inténtalo más tarde
ModelOverloaded = El proveedor del modelo está sobrecargado o falla; inténtalo más tarde
ModelRefusesKey = El proveedor del modelo rechaza la clave; corrige AUTONOUS_MODEL_API_KEY
ModelNoCredit = La cuenta del modelo no tiene saldo; el operador añade saldo o sube el límite con el proveedor, o pone en AUTONOUS_MODEL_API_KEY la clave de otra cuenta
ModelRefusesRequest = El proveedor del modelo rechaza la petición; revisa AUTONOUS_MODEL_NAME y AUTONOUS_MODEL_BASE_URL, y pon AUTONOUS_MODEL_TOOL_PROTOCOL=json para un modelo que no sabe llamar a funciones
ModelContextTooLong = La conversación es demasiado larga para el modelo; pide un paso más pequeño o elige un modelo con una ventana mayor
ModelUnreachable = No se puede contactar con el proveedor del modelo o se cortó la conexión; inténtalo más tarde
ModelServerUnreachable = No se puede contactar con el modelo en { $address } ({ $cause })
ModelStalled = El proveedor del modelo dejó de responder; inténtalo más tarde
ModelInvalidReply = El proveedor del modelo envió algo que no es una respuesta válida
ModelAsksToWait = { $error }; pide esperar { $seconds } segundos
ModelPaused = { $error } (falló { $failures } veces seguidas y queda en pausa { $seconds } segundos)
WorkerInternal = Error interno en el trabajador; la causa está en su registro.
